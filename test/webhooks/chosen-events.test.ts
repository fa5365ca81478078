import type { DomainEvent } from '../../src/domain/events.js';
import { decodePage } from '../../src/projecting/page.js';
import type { LedgerEvent } from '../../src/projecting/projector.js';
import {
  AnnouncementsHandler,
  type AnnouncementsHandlerOptions,
} from '../../src/webhooks/deliveries/announcements-handler.js';
import type { NewDelivery } from '../../src/webhooks/deliveries/delivery-rows.js';
import type { WebhookType } from '../../src/webhooks/payloads/announced.js';
import { anAccount, referralCodeAssigned, userIdentified } from '../support/account-events.js';
import { ErrorLines } from '../support/error-lines.js';
import { InMemoryEventLog } from '../support/in-memory-event-log.js';
import { ledgerEventOf } from '../support/test-ledger.js';

const ENDPOINT = { tenant: 'demo', mode: 'live', endpointId: 'e' } as const;

/** A handler with one active endpoint, and the types of the deliveries that it stores. */
async function started() {
  const log = new InMemoryEventLog();
  const stored: WebhookType[] = [];
  const receives: { types: readonly WebhookType[] | null; isReadable: boolean } = {
    types: ['coupon.created'],
    isReadable: true,
  };
  const store = {
    checkpoint: () => Promise.resolve({ position: null, version: 0n, trail: [] }),
    unreadEvents: () => Promise.resolve([]),
    endpointsInState: ([state]: readonly string[]) =>
      Promise.resolve(state === 'ACTIVE' ? [{ ...ENDPOINT, state }] : []),
    storePage: (version: bigint, { deliveries = [] }: { deliveries?: readonly NewDelivery[] }) => {
      stored.push(...deliveries.map(({ type }) => type));
      return Promise.resolve(version + 1n);
    },
  };
  const receivedTypes = () =>
    receives.isReadable
      ? Promise.resolve(new Map([['e', receives.types]]))
      : Promise.reject(new Error('the tenant cannot be read'));
  const options = { log, store, receivedTypes, logger: new ErrorLines() };
  const handler = new AnnouncementsHandler(options as unknown as AnnouncementsHandlerOptions);
  await handler.begin({ fail: () => undefined } as never);
  let count = 0n;
  /** @returns the types of the deliveries that these events make. */
  const takes = async (...events: readonly Pick<LedgerEvent<DomainEvent>, 'event'>[]) => {
    stored.length = 0;
    const recorded = events.map(({ event: { type } }) => {
      const at = { id: `id${++count}`, position: `m-${count}`, revision: count };
      return { ...at, type, stream: STREAM, data: '', metadata: '', recordedAt: Date.now() };
    });
    const decode = () =>
      Promise.resolve(
        events.map(({ event }, n) =>
          ledgerEventOf(OF, event, { ...recorded[n], eventId: recorded[n]?.id ?? '' }),
        ),
      );
    const page = await decodePage(recorded, decode as never);
    if (page) await handler.take(page);
    return [...stored];
  };
  return { takes, receives };
}

const ACCOUNT = anAccount('acme');
const STREAM = 'referral-account-live.demo.acme';
const OF = { ...ACCOUNT, stream: STREAM };
const USER = [
  { event: userIdentified(ACCOUNT, 'u') },
  { event: referralCodeAssigned(ACCOUNT, 'u', 'CODE') },
];
const subscribed = {
  event: { type: 'WebhookSubscribed', at: 1, mode: 'live', endpointId: 'e' },
} as never;

test('a delivery is stored for the types that the endpoint receives, also after they change', async () => {
  const { takes, receives } = await started();
  expect(await takes(...USER)).toEqual(['coupon.created']);
  receives.types = ['user.created'];
  expect(await takes(subscribed, ...USER)).toEqual(['user.created']);
  receives.types = null;
  expect(await takes(...USER, subscribed)).toEqual(['user.created', 'coupon.created']);
});

test('of an endpoint that cannot be read, all deliveries are stored', async () => {
  const { takes, receives } = await started();
  receives.isReadable = false;
  expect(await takes(...USER)).toEqual(['user.created', 'coupon.created']);
  receives.isReadable = true;
  expect(await takes(...USER)).toEqual(['coupon.created']);
});
