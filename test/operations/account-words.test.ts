import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Map } from 'immutable';
import type { AccountEvent, WithheldReason } from '../../src/domain/account/account.events.js';
import type { OpenAccount } from '../../src/domain/account/account.state.js';
import { personal } from '../../src/domain/personal.js';
import { REFERRER_RULE, type GrantTerms } from '../../src/domain/program.js';
import type { DomainEvent } from '../../src/domain/events.js';
import type { Actor, Envelope } from '../../src/event-log/envelope.js';
import { actorInWords } from '../../src/operations/accounts/actor-in-words.js';
import {
  EVENT_KINDS,
  eventInWords,
  kindOfEvent,
} from '../../src/operations/accounts/event-in-words.js';
import { whyWithheld, type Withheld } from '../../src/operations/accounts/withheld-rewards.js';
import {
  amountsOf,
  plainAmount,
  type Known,
} from '../../src/operations/accounts/words-of-rewards.js';
import { POLICIES } from '../../src/policies/policies.js';
import { terms } from '../domain/support/account-scenario.js';
import {
  aboutReward,
  anAccount,
  credit,
  discount,
  partyOf,
  referralModerated,
  rewardCancelled,
  rewardGranted,
  rewardWithheld,
} from '../support/account-events.js';

const ACME = anAccount('acme');
const JANA = partyOf(ACME, 'jana');
const known: Known = {
  nameOf: (person) => (person === JANA.person ? 'Jana Frank' : 'a person of another account'),
  code: 'JANA1',
  showsPersonal: true,
  amountText: (amount, unit) =>
    unit === 'CENTS' ? `$${(amount / 100).toFixed(2)}` : plainAmount(amount, unit),
};
const words = (event: AccountEvent, reader: Partial<Known> = {}) =>
  eventInWords(event, { ...known, ...reader });

const folder = join(__dirname, '../event-log/samples');
const samples = readdirSync(folder)
  .filter((name) => name.endsWith('.json'))
  .map((name) => JSON.parse(readFileSync(join(folder, name), 'utf8')) as { event: DomainEvent })
  .filter(({ event }) => kindOfEvent(event.type) !== undefined)
  .map(({ event }) => event as AccountEvent);

test.each(samples.map((event) => [event.type, event] as const))(
  'a stored %s reads as a sentence without internal names',
  (type, event) => {
    const sentence = words(event);
    expect(sentence).toMatch(/^[A-Z$\d].{8,}/);
    expect(sentence).not.toMatch(/undefined|null|\[object|[a-z][A-Z]|\b[A-Z]+_[A-Z_]+\b|policy:/);
    expect(EVENT_KINDS).toContain(kindOfEvent(type));
  },
);

const reward = rewardGranted('w', JANA, credit(1_250), { source: 'FRIEND_SIGNUP' });

test.each<[string, AccountEvent]>([
  ['$12.50 granted to Jana Frank, for a referred friend', reward],
  [
    '10% discount granted to Jana Frank, for signing up with the code JANA1',
    rewardGranted('w', JANA, discount(10), { source: 'REFERRED' }),
  ],
  [
    '$12.50 granted to Jana Frank, by hand. Reason: Sorry for the delay',
    rewardGranted('w', JANA, credit(1_250), {
      reason: personal(JANA.person, 'Sorry for the delay'),
    }),
  ],
  [
    "A friend signed up with Jana Frank's code",
    {
      type: 'ReferralAnnounced',
      at: 1,
      referralId: 'r',
      account: 'a',
      person: JANA.person,
    },
  ],
  ['$3.00 of Jana Frank expired', aboutReward('RewardExpired', reward, 300, 1)],
  [
    'A discount of Jana Frank expired',
    aboutReward('RewardExpired', rewardGranted('w', JANA, discount(10)), 0, 1),
  ],
  ['$12.50 of Jana Frank cancelled by moderation', rewardCancelled(reward, 1_250, 1, 'MODERATION')],
  [
    "The referral was decided: referred side approved, referrer's side denied",
    referralModerated('r', JANA, { referrerStatus: 'DENIED' }),
  ],
  [
    'The profile of Jana Frank changed: first name, custom fields',
    {
      type: 'UserProfileChanged',
      at: 1,
      person: JANA.person,
      changes: personal(JANA.person, { firstName: 'J', customFields: {} }),
    },
  ],
])('%s', (sentence, event) => {
  expect(words(event)).toBe(sentence);
});

test('free texts are hidden from readers without personal data', () => {
  const event = rewardGranted('w', JANA, credit(1), { reason: personal(JANA.person, 'secret') });
  expect(words(event, { showsPersonal: false })).toContain('Reason: (hidden)');
});

test('amounts have the format of their unit, and otherwise the unit', () => {
  const text = amountsOf((unit, account) => {
    return unit === 'CENTS' && account === 'acme' ? (amount) => `$${amount}` : undefined;
  }, 'acme');
  expect([text(5, 'CENTS'), text(5_000, 'POINTS'), text(1, null)]).toEqual([
    '$5',
    '5,000 POINTS',
    '1',
  ]);
});

const actorOf = (actor: Actor): string => {
  const envelope = { actor } as unknown as Envelope;
  return actorInWords({ event: reward, envelope });
};

test.each<[string, Actor]>([
  ['Client', { kind: 'api-key', id: 'key-1' }],
  ['User', { kind: 'user-token', id: 'secret-1' }],
  ['sam', { kind: 'operator', id: 'x', name: personal('x', 'sam') }],
  ['sam, command line', { kind: 'cli', id: 'x', name: personal('x', 'sam') }],
  [
    'Reward rule: referrer reward on conversion',
    { kind: 'policy', id: 'grant-referrer-reward-when-earned' },
  ],
  ['Payment provider', { kind: 'system', id: 'payment-provider' }],
])('the actor %s', (text, actor) => {
  expect(actorOf(actor)).toBe(text);
});

test('every policy that sends commands has a name for people', () => {
  const silent = ['announce-by-mail', 'move-work-with-the-test-clock'];
  const unnamed = POLICIES.filter(
    ({ name }) => actorOf({ kind: 'policy', id: name }) === 'Reward rule',
  ).map(({ name }) => name);
  expect(unnamed.sort()).toEqual(silent);
});

const open = { users: Map([[JANA.person, {}]]), currencies: Map([['cents', 'EUR']]) };
const TERMS: GrantTerms = {
  ...terms({ type: 'CREDIT', unit: 'CENTS', assignedCredit: 1_000, currency: 'USD' }),
  limit: { total: 5, perDay: 1 },
};
const why = (reason: WithheldReason, known_?: GrantTerms, person = JANA.person) => {
  const event = rewardWithheld({ reason, rule: REFERRER_RULE, person }) as Withheld;
  return whyWithheld(event, known_, known, open as unknown as OpenAccount).sentence;
};
const START = 'Jana Frank did not get $10.00 for a referred friend:';

test.each<[WithheldReason, string]>([
  ['LIMIT_REACHED', 'the limit of the reward rule was reached (5 in total, 1 a day).'],
  ['CURRENCY_DIFFERS', "the account's CENTS are in EUR, the reward is in USD."],
  ['POOL_EMPTY', 'the pool of codes was empty.'],
  ['SIDE_NOT_APPROVED', 'moderation had not approved the referral.'],
  ['REFERRER_BLOCKED', 'the referrer was blocked.'],
  ['REFERRER_GONE', 'the referrer had been forgotten.'],
  ['REFERRAL_REFUNDED', 'the first invoice of the referral was refunded.'],
  ['EVENT_REFUNDED', 'the event that earned it was refunded.'],
  [
    'AMOUNT_TOO_LARGE',
    'the credit of the account would become too large (at most $90071992547409.91).',
  ],
])('a reward that was not granted by %s has a sentence with its amount', (reason, because) => {
  expect(why(reason, TERMS)).toBe(`${START} ${because}`);
});

test('a reward that was not granted has a sentence without amount where its terms are not known', () => {
  expect(why('LIMIT_REACHED')).toBe(
    'Jana Frank did not get the reward for a referred friend: the limit of the reward rule was reached.',
  );
});

test('a reward of the referrer that was not granted names no person of another account', () => {
  expect(why('REFERRER_BLOCKED', TERMS, 'another')).toMatch(/^The referrer did not get/);
});
