import type { Scope } from '../src/domain/scope.js';
import {
  walkOf,
  type ProviderRows,
  type ExpiredKey,
} from '../src/payments/incoming/payment-rows.js';
import type { WaitingForAccount } from '../src/reacting/policy.js';
import { laneName } from '../src/work-queue/work-items.js';
import type { Line } from './connection.js';
import type { WorkTable } from './simulated-work.js';
import { StoreAway } from './store-away.js';

const away = (): Error => new StoreAway('the simulated database is away');

interface ProviderRow {
  lastEventAt: number | null;
  lastSyncAt: number | null;
}

interface WaitingRow {
  readonly stream: string;
  readonly subject: string;
  at: number;
  isLinked: boolean;
}

/** What is kept of payments outside of the log, as its server holds it. */
export class SimulatedPaymentTable {
  private readonly providers = new Map<string, ProviderRow>();
  /** By the keyed hash of the event's id. */
  readonly waiting = new Map<string, WaitingRow>();

  /** @param clock epoch milliseconds of the server. @param work the queue. */
  constructor(
    readonly clock: () => number,
    readonly work: WorkTable,
  ) {}

  provider({ tenant, mode }: Scope): ProviderRow {
    const name = laneName(tenant, mode);
    const made = this.providers.get(name) ?? { lastEventAt: null, lastSyncAt: null };
    this.providers.set(name, made);
    return made;
  }

  addWaiting(stream: string, { eventRef, subject, at }: WaitingForAccount): void {
    if (!this.waiting.has(eventRef))
      this.waiting.set(eventRef, { stream, subject, at, isLinked: false });
  }

  markLinked(stream: string): void {
    for (const row of this.waiting.values()) if (row.stream === stream) row.isLinked = true;
  }

  expiredKeys(before: number, atMost: number): readonly ExpiredKey[] {
    const rows = [...this.waiting.values()];
    const isNewer = (row: WaitingRow): boolean =>
      rows.some(({ subject, at }) => subject === row.subject && at >= before);
    const waited = rows
      .filter((row) => row.at < before && !isNewer(row))
      .sort((a, b) => a.at - b.at)
      .slice(0, atMost);
    return [
      ...new Map(
        waited.map(({ subject, stream }) => [`${subject} ${stream}`, { subject, stream }]),
      ).values(),
    ];
  }

  dropExpired(subject: string, before: number): void {
    for (const [ref, row] of this.waiting)
      if (row.subject === subject && row.at < before) this.waiting.delete(ref);
  }

  restartWait(subject: string, at: number): void {
    for (const row of this.waiting.values())
      if (row.subject === subject) Object.assign(row, { isLinked: true, at });
  }
}

/** What is known of providers, as one process reaches it. */
export function simulatedProviderRows(table: SimulatedPaymentTable, line: Line): ProviderRows {
  const ask = <T>(question: () => T): Promise<T> => line.read('payments', away, question);
  const change = <T>(work: () => T): Promise<T> => line.write('payments', away, work);
  return {
    recordEventTime: (scope, at) =>
      change(() => {
        const row = table.provider(scope);
        row.lastEventAt = Math.max(row.lastEventAt ?? at, at);
      }),
    recordConnection: (scope) =>
      change(() => {
        table.provider(scope);
        table.work.add([walkOf(scope)], 'replacement');
      }),
    recordSync: (scope) =>
      change(() => {
        table.provider(scope).lastSyncAt = table.clock();
        table.work.add([walkOf(scope)], 'missing');
      }),
    walkedAt: (scope) =>
      ask(() => {
        const { lastSyncAt } = table.provider(scope);
        return lastSyncAt === null ? null : new Date(lastSyncAt);
      }),
    addWaiting: (_scope, stream, event) => change(() => table.addWaiting(stream, event)),
    markLinked: (stream) => change(() => table.markLinked(stream)),
    expiredKeys: (before, atMost) => ask(() => table.expiredKeys(before, atMost)),
    dropExpired: (subject, before) => change(() => table.dropExpired(subject, before)),
    restartWait: (subject, at) => change(() => table.restartWait(subject, at)),
  };
}
