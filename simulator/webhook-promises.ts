import type { AccountEvent } from '../src/domain/account/account.events.js';
import type { WebhookEvent } from '../src/domain/tenant/webhook-endpoints.js';
import type { Scope } from '../src/domain/scope.js';
import type { Decoded } from '../src/event-log/codec.js';
import { accountRefOf, type KeyedNames } from '../src/privacy/keyed-names.js';
import {
  announcedBy,
  announcedByEach,
  type Announced,
} from '../src/webhooks/payloads/announced.js';
import type { SharedStores } from './service.js';

interface LogFacts {
  readonly log: readonly Decoded[];
  readonly lost: readonly Decoded[];
  readonly scope: Scope;
  readonly names: KeyedNames;
}

/** Of an event that stands: what its endpoints may get, and must get. */
interface Expected {
  readonly what: string;
  readonly mayBeMissing: boolean;
}

/**
 * One row for each thing that an event announces and each endpoint that was subscribed then:
 * nothing twice, nothing from before a subscription, nothing of events that never were. What an
 * older release could not read is sent late, to the endpoints of then.
 */
export function brokenWebhooks({ webhooks, log: store }: SharedStores, facts: LogFacts): string[] {
  const position = (text: string): number => Number(store.positions.number(text));
  const begun = Math.max(0, ...webhooks.beginnings.map(position));
  const { readLate } = webhooks;
  const { expected, states } = expectedRows({ ...facts, readLate }, begun, position);
  const lost = new Set(facts.lost.map(({ recorded }) => recorded.id));
  const rows = new Map<string, number>();
  for (const { endpointId, type, subject, event } of webhooks.deliveries.values()) {
    if (event === null || lost.has(event.eventId)) continue;
    const name = nameOfRow(event.eventId, endpointId, { type, subject });
    rows.set(name, (rows.get(name) ?? 0) + 1);
  }
  return [
    ...[...rows].flatMap(([name, count]) => [
      ...(expected.has(name) ? [] : [`a webhook that no endpoint was to get: ${name}`]),
      ...(count > 1 ? [`a webhook in ${count} rows: ${name}`] : []),
    ]),
    ...[...expected].flatMap(([name, { what, mayBeMissing }]) =>
      rows.has(name) || mayBeMissing ? [] : [`no webhook of ${what}: ${name}`],
    ),
    ...[...states].flatMap(([endpointId, state]) => {
      const known = [...webhooks.endpoints.values()].find((one) => one.endpointId === endpointId);
      return known?.state === state
        ? []
        : [`the endpoint ${endpointId} is ${state}, and ${known?.state ?? 'unknown'} in the table`];
    }),
    ...[...webhooks.unread.values()].map(({ eventId }) => `the event ${eventId} is not read`),
  ];
}

function expectedRows(
  { log, lost, scope, names, readLate }: LogFacts & { readonly readLate: ReadonlySet<string> },
  begun: number,
  position: (text: string) => number,
): {
  readonly expected: ReadonlyMap<string, Expected>;
  readonly states: ReadonlyMap<string, 'ACTIVE' | 'DISABLED' | 'UNSUBSCRIBED'>;
} {
  const expected = new Map<string, Expected>();
  const states = new Map<string, 'ACTIVE' | 'DISABLED' | 'UNSUBSCRIBED'>();
  const accounts = log.filter(({ recorded }) => accountRefOf(recorded.stream) !== undefined);
  const last = announcedByEach(
    accounts.map(({ event, recorded, envelope }) => ({
      event: event as AccountEvent,
      stream: recorded.stream,
      commandId: envelope.commandId,
    })),
  );
  const lastOf = new Map(accounts.map(({ recorded }, index) => [recorded.id, last[index] ?? []]));
  // A page that ends within an append announces the balance there, too.
  const isLast = (id: string, one: Announced): boolean =>
    (lastOf.get(id) ?? []).some((other) => JSON.stringify(other) === JSON.stringify(one));
  /** Of endpoints that ended since: what waited for them is gone. */
  const ended = new Map<string, number>();
  const tenant = names.tenantStream(scope.tenant);
  const known = new Set<string>();
  for (const { event, recorded } of [...log, ...lost]) {
    if (recorded.stream === tenant && event.type === 'WebhookSubscribed')
      known.add((event as WebhookEvent).endpointId);
    if (recorded.stream !== tenant || event.type !== 'WebhookUnsubscribed') continue;
    const { endpointId } = event as WebhookEvent;
    // By its place: the clock may have been set back.
    ended.set(endpointId, Math.max(ended.get(endpointId) ?? 0, position(recorded.position)));
  }
  for (const decoded of log) {
    const { event, recorded } = decoded;
    if (recorded.stream === tenant) follow(event as WebhookEvent, states);
    const announced = announcedOf(decoded);
    const isLate = readLate.has(recorded.id);
    for (const endpointId of isLate ? known : states.keys())
      for (const one of isLate || states.get(endpointId) === 'ACTIVE' ? announced : [])
        expected.set(nameOfRow(recorded.id, endpointId, one), {
          what: event.type,
          mayBeMissing:
            isLate ||
            position(recorded.position) <= begun ||
            !isLast(recorded.id, one) ||
            position(recorded.position) <= (ended.get(endpointId) ?? 0),
        });
  }
  return { expected, states };
}

/** What an event of any kind announces; of a round: nothing of exports and themes. */
function announcedOf(decoded: Decoded): readonly Announced[] {
  const { event, recorded } = decoded;
  return accountRefOf(recorded.stream) === undefined ? [] : announcedBy(event as AccountEvent);
}

function follow(
  event: WebhookEvent,
  states: Map<string, 'ACTIVE' | 'DISABLED' | 'UNSUBSCRIBED'>,
): void {
  switch (event.type) {
    case 'WebhookSubscribed':
    case 'WebhookEnabled':
      return void states.set(event.endpointId, 'ACTIVE');
    case 'WebhookDisabled':
      return void states.set(event.endpointId, 'DISABLED');
    case 'WebhookUnsubscribed':
      return void states.set(event.endpointId, 'UNSUBSCRIBED');
    default:
  }
}

const nameOfRow = (eventId: string, endpointId: string, { type, subject }: Announced): string =>
  `${endpointId} ${eventId} ${type} ${JSON.stringify(subject)}`;
