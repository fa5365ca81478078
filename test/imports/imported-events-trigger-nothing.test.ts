import type { AccountEvent } from '../../src/domain/account/account.events.js';
import type { LedgerEvent } from '../../src/projecting/projector.js';
import type { DomainEvent } from '../../src/domain/events.js';
import { POLICIES } from '../../src/policies/policies.js';
import { announcedBy } from '../../src/webhooks/payloads/announced.js';
import { EVENT_EXAMPLES } from '../event-log/support/event-examples.js';

const NOW = 1_700_000_000_000;
const DAY_MS = 86_400_000;
const MARKS = { ref: 'row', row: { subject: 'a', value: null }, at: NOW };
const MARKED: readonly AccountEvent['type'][] = [
  'SubscriptionChanged',
  'PaymentProviderIdSet',
  'UserIdentified',
  'ReferralCodeAssigned',
  'ReferralStarted',
  'ReferralConverted',
  'ReferralEnded',
  'RewardGranted',
];

const imported = (type: AccountEvent['type'], over: object = {}): AccountEvent => {
  const statuses = {
    referredReward: null,
    referrerReward: null,
    tooManyWith: [],
    payTo: undefined,
  };
  return { ...EVENT_EXAMPLES[type], ...statuses, imported: MARKS, ...over } as never;
};
const reactions = (event: AccountEvent) =>
  POLICIES.filter(({ handles }) => handles.has(event.type)).flatMap((policy) =>
    policy.react({
      event,
      tenant: 'demo',
      mode: 'live',
      accountRef: 'a',
      stream: 's',
    } as unknown as LedgerEvent<DomainEvent>),
  );

test.each(MARKED)(
  'an imported %s announces nothing, and mails, pays and rewards no one',
  (type) => {
    expect(announcedBy(imported(type))).toEqual([]);
    const dates = { dateScheduledFor: NOW - 1, dateExpires: NOW };
    // That a customer has an account now is noted: what waits for it is not forgotten.
    expect(reactions(imported(type, dates)).filter(({ kind }) => kind !== 'provider-note')).toEqual(
      [],
    );
  },
);

test.each([
  [7 * DAY_MS, ['job']],
  [7 * DAY_MS + 1, ['job', 'mail']],
])('an imported reward that expires %d ms later is announced so: %s', (later, expected) => {
  const dates = { dateScheduledFor: null, dateExpires: NOW + later };
  expect(reactions(imported('RewardGranted', dates)).map(({ kind }) => kind)).toEqual(expected);
});
