import type { HandlerCheckpoint } from '../src/following/checkpoints.js';
import { CheckpointMoved } from '../src/following/handler.js';
import type { TrailPoint } from '../src/following/trail.js';
import type { Position, SeenEvent } from '../src/event-log/event-log.js';
import {
  nameOf,
  type EndpointChange,
  type NewDelivery,
  type UnreadEvent,
} from '../src/webhooks/deliveries/delivery-rows.js';
import type { AnnouncementsStore } from '../src/webhooks/deliveries/announcements-store.js';
import type { Line } from './connection.js';
import type { SeededRandom } from './seeded-random.js';
import { StoreAway } from './store-away.js';

const away = (): Error => new StoreAway('the simulated database is away');

interface Row extends NewDelivery {
  state: 'PENDING' | 'DELIVERED';
}

/** What the followers of webhooks of all processes share. */
export class SimulatedWebhookTable {
  checkpoint: HandlerCheckpoint | undefined;
  readonly endpoints = new Map<string, EndpointChange>();
  /** By their ids. */
  readonly deliveries = new Map<string, Row>();
  readonly unread = new Map<string, UnreadEvent>();
  /** The ids of all events that an older release could not read at first. */
  readonly readLate = new Set<string>();
  /** Where it began, or went on after a loss of which no earlier checkpoint was left. */
  readonly beginnings: Position[] = [];

  /** @param clock epoch milliseconds of the server. */
  constructor(readonly clock: () => number) {}

  begin(position: Position | null, endpoints: readonly EndpointChange[]): void {
    if (this.checkpoint !== undefined) return;
    this.putEndpoints(endpoints);
    const movedAt = this.clock();
    this.checkpoint = { position, witness: undefined, trail: [], version: 0n, movedAt };
    if (position !== null) this.beginnings.push(position);
  }

  /** @throws {CheckpointMoved} */
  takeVersion(version: bigint): HandlerCheckpoint {
    if (this.checkpoint?.version !== version) throw new CheckpointMoved('webhooks');
    this.checkpoint = { ...this.checkpoint, version: version + 1n };
    return this.checkpoint;
  }

  /** After a loss of the log's end. @param isBehind whether a change stands behind the position. */
  moveTo(
    to: { readonly position: Position | null; readonly trail: readonly TrailPoint[] },
    isBehind: (changed: Position) => boolean,
  ): void {
    const { checkpoint } = this;
    if (checkpoint === undefined) return;
    const witness = to.trail.at(-1)?.witness;
    this.checkpoint = { ...checkpoint, ...to, witness, version: checkpoint.version + 1n };
    if (to.trail.length === 0 && to.position !== null) this.beginnings.push(to.position);
    for (const [name, endpoint] of this.endpoints)
      if (endpoint.position !== null && isBehind(endpoint.position))
        this.endpoints.set(name, { ...endpoint, state: 'UNKNOWN' });
  }

  /** What became of it the follower sees nothing of. */
  sendSome(random: SeededRandom): void {
    for (const row of this.deliveries.values())
      if (row.state === 'PENDING' && this.endpoints.get(nameOf(row))?.state === 'ACTIVE')
        if (random.onceIn(2)) row.state = 'DELIVERED';
  }

  putEndpoints(changes: readonly EndpointChange[]): void {
    for (const change of changes) this.endpoints.set(nameOf(change), { ...change });
  }

  dropWaiting({ state, ...ended }: EndpointChange): void {
    if (state !== 'UNSUBSCRIBED') return;
    for (const [id, row] of this.deliveries)
      if (row.state === 'PENDING' && nameOf(row) === nameOf(ended)) this.deliveries.delete(id);
  }

  putDeliveries(deliveries: readonly NewDelivery[]): void {
    for (const delivery of deliveries)
      if (!this.deliveries.has(delivery.id))
        this.deliveries.set(delivery.id, { ...delivery, state: 'PENDING' });
  }

  /** The last event that is in the rows; undefined: none, or unknown. */
  get seen(): SeenEvent | undefined {
    return this.checkpoint?.witness;
  }
}

/** What the follower stores, as one process reaches it. */
export function simulatedAnnouncementsStore(
  table: SimulatedWebhookTable,
  line: Line,
): AnnouncementsStore {
  const ask = <T>(question: () => T): Promise<T> => line.read('webhooks', away, question);
  const change = <T>(work: () => T): Promise<T> => line.write('webhooks', away, work);
  return {
    checkpoint: () => ask(() => table.checkpoint),
    begin: (position, endpoints) => change(() => table.begin(position, endpoints)),
    storePage: (version, { point, trail, endpoints = [], deliveries = [], unread = [], read }) =>
      change(() => {
        const checkpoint = table.takeVersion(version);
        if (point !== undefined)
          table.checkpoint = {
            position: point.reached,
            witness: point.witness,
            trail: trail ?? checkpoint.trail,
            version: checkpoint.version,
            movedAt: table.clock(),
          };
        for (const endpoint of endpoints) table.dropWaiting(endpoint);
        table.putEndpoints(endpoints);
        table.putDeliveries(deliveries);
        if (read !== undefined) table.unread.delete(read);
        for (const event of unread) {
          table.readLate.add(event.eventId);
          if (!table.unread.has(event.eventId)) table.unread.set(event.eventId, event);
        }
        return checkpoint.version;
      }),
    endpointsInState: (states) =>
      ask(() => [...table.endpoints.values()].filter(({ state }) => states.includes(state))),
    unreadEvents: (limit) => ask(() => [...table.unread.values()].slice(0, limit)),
    waiting: () => Promise.resolve({ waiting: 0, oldest: undefined, unsentSeconds: 0 }),
  };
}
