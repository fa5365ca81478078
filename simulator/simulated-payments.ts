import type { Scope } from '../src/domain/scope.js';
import type {
  ClaimedSync,
  ProviderRows,
  SyncEnd,
  WaitedKey,
} from '../src/payments/incoming/payment-rows.js';
import {
  scopeKey,
  WAITS_FOR,
  type AskedFor,
  type ClaimedWork,
  type NextWork,
  type PaymentWork,
  type WorkAsks,
  type WorkRoom,
} from '../src/payments/outgoing/payment-work.js';
import type { WaitingForAccount } from '../src/reacting/policy.js';
import type { Line } from './connection.js';
import { StoreAway } from './store-away.js';

const away = (): Error => new StoreAway('the simulated database is away');
const WORK_LEASE_MS = 180_000;
const SYNC_LEASE_MS = 60_000;
const DAY_MS = 86_400_000;

interface Claim {
  leasedUntil: number | null;
  claimedBy: number | null;
}

interface WorkRow extends Claim, Scope {
  readonly account: string;
  nextAt: number;
  waitingSince: number;
  failures: number;
  reason: string | null;
  retriesParked: boolean;
  woken: bigint;
}

interface ProviderRow extends Claim, Scope {
  lastEventAt: number | null;
  lastSyncAt: number | null;
  syncDueAt: number | null;
  since: number | null;
  cursor: string | null;
  failures: number;
  problem: string | null;
  lateSince: number | null;
}

interface WaitingRow {
  readonly stream: string;
  readonly subject: string;
  at: number;
  isLinked: boolean;
}

/** What is kept of payments beside the log, as its server holds it. */
export class SimulatedPaymentTable {
  readonly work = new Map<string, WorkRow>();
  readonly providers = new Map<string, ProviderRow>();
  /** By the keyed hash of the event's id. */
  readonly waiting = new Map<string, WaitingRow>();

  /** @param clock epoch milliseconds of the server. @param present processes that live. */
  constructor(
    readonly clock: () => number,
    readonly present: Set<number>,
  ) {}

  /** Accounts and walks that are due. */
  get due(): number {
    const now = this.clock();
    const work = [...this.work.values()].filter(({ nextAt }) => nextAt <= now);
    const walks = [...this.providers.values()].filter(
      ({ syncDueAt }) => syncDueAt !== null && syncDueAt <= now,
    );
    return work.length + walks.length;
  }

  /** Whether a process may take it: nobody has it, or whoever had it is gone or too late. */
  isFree({ leasedUntil, claimedBy }: Claim, process: number): boolean {
    if (leasedUntil === null || leasedUntil < this.clock()) return true;
    return claimedBy !== null && claimedBy !== process && !this.present.has(claimedBy);
  }

  claimWork(
    { accounts, ofTenant, underWay, paused, after }: WorkRoom,
    process: number,
  ): readonly ClaimedWork[] {
    const now = this.clock();
    const tenants = [...new Set([...this.work.values()].map(({ tenant }) => tenant))].sort();
    const due = tenants.flatMap((tenant) =>
      [...this.work.values()]
        .filter((row) => row.tenant === tenant && row.nextAt <= now && this.isFree(row, process))
        .filter((row) => !paused.includes(scopeKey(row)))
        .sort((a, b) => a.nextAt - b.nextAt)
        .slice(0, Math.max(0, ofTenant - underWay.filter((one) => one === tenant).length)),
    );
    const isBefore = ({ tenant }: WorkRow): number => Number(tenant <= after);
    const claimed = due.sort((a, b) => isBefore(a) - isBefore(b)).slice(0, accounts);
    return claimed.map((row) => {
      Object.assign(row, { leasedUntil: now + WORK_LEASE_MS, claimedBy: process });
      const { tenant, mode, account, failures, retriesParked, woken } = row;
      return { tenant, mode, account, failures, retriesParked, woken };
    });
  }

  releaseWork(work: ClaimedWork, next: NextWork, process: number): void {
    const row = this.work.get(nameOfWork(work));
    if (row?.claimedBy !== process) return;
    const isAsked = row.woken !== work.woken;
    if (next.kind === 'none' && !isAsked) {
      this.work.delete(nameOfWork(work));
      return;
    }
    const now = this.clock();
    const { after, failures, reason, retriesParked } = next.kind === 'none' ? AT_ONCE : next;
    const at = 'at' in after ? after.at : now + after.ms;
    const waited = Object.values<string | null>(WAITS_FOR).includes(row.reason);
    if (!isAsked && 'at' in after) row.waitingSince = at;
    else if (next.kind === 'none' || waited) row.waitingSince = now;
    row.nextAt = isAsked ? now : at;
    row.retriesParked = retriesParked || (row.retriesParked && isAsked);
    Object.assign(row, { failures, reason, leasedUntil: null, claimedBy: null });
  }

  ask({ tenant, mode, account, dueAt, retriesParked = false }: AskedFor): void {
    const at = dueAt ?? this.clock();
    const row = this.work.get(nameOfWork({ tenant, mode, account }));
    if (row === undefined) {
      const begun = { failures: 0, reason: null, woken: 0n, leasedUntil: null, claimedBy: null };
      const due = { nextAt: at, waitingSince: at, retriesParked };
      const made = { tenant, mode, account, ...due, ...begun };
      this.work.set(nameOfWork(made), made);
      return;
    }
    row.nextAt = Math.min(row.nextAt, at);
    row.waitingSince = Math.min(row.waitingSince, at);
    row.retriesParked ||= retriesParked;
    row.woken += 1n;
  }

  wake(account: Scope & { readonly account: string }): void {
    const row = this.work.get(nameOfWork(account));
    if (row === undefined) return;
    row.nextAt = this.clock();
    row.waitingSince = Math.min(row.waitingSince, row.nextAt);
    row.woken += 1n;
  }

  provider({ tenant, mode }: Scope): ProviderRow {
    const known = this.providers.get(scopeKey({ tenant, mode }));
    const made: ProviderRow = known ?? {
      tenant,
      mode,
      lastEventAt: null,
      lastSyncAt: null,
      syncDueAt: this.clock() + DAY_MS,
      ...NO_WALK,
      leasedUntil: null,
      claimedBy: null,
    };
    this.providers.set(scopeKey(made), made);
    return made;
  }

  claimSyncs(process: number, atMost: number): readonly ClaimedSync[] {
    const now = this.clock();
    return [...this.providers.values()]
      .filter((row) => row.syncDueAt !== null && row.syncDueAt <= now && this.isFree(row, process))
      .sort((a, b) => (a.syncDueAt ?? 0) - (b.syncDueAt ?? 0))
      .slice(0, atMost)
      .map((row) => {
        row.lateSince ??= row.syncDueAt;
        Object.assign(row, { leasedUntil: now + SYNC_LEASE_MS, claimedBy: process });
        const { tenant, mode, cursor, failures } = row;
        const [since, lastSyncAt] = [dateOf(row.since), dateOf(row.lastSyncAt)];
        const lateSince = dateOf(row.lateSince);
        return { tenant, mode, cursor, failures, since, lastSyncAt, lateSince };
      });
  }

  keepSync(
    of: Scope & { readonly process: number },
    at: Pick<ProviderRow, 'cursor'> & { readonly since: number },
  ): boolean {
    const row = this.providers.get(scopeKey(of));
    if (row?.claimedBy !== of.process) return false;
    const leasedUntil = this.clock() + SYNC_LEASE_MS;
    Object.assign(row, { ...at, failures: 0, problem: null, leasedUntil });
    return true;
  }

  endSync(of: Scope & { readonly process: number }, end: SyncEnd): void {
    const row = this.providers.get(scopeKey(of));
    if (row?.claimedBy !== of.process) return;
    Object.assign(row, this.changesOf(row, end), { leasedUntil: null, claimedBy: null });
  }

  private changesOf(row: ProviderRow, end: SyncEnd): Partial<ProviderRow> {
    const now = this.clock();
    switch (end.kind) {
      case 'done':
        return { lastSyncAt: now, syncDueAt: now + DAY_MS, ...NO_WALK };
      case 'more':
        return { syncDueAt: now };
      case 'not-connected':
        return { syncDueAt: null, ...NO_WALK };
      case 'postponed':
        return { syncDueAt: now + end.inMs };
      case 'suspended':
        return { syncDueAt: now + end.inMs, lateSince: null };
      case 'failed':
        return {
          syncDueAt: now + end.inMs,
          failures: row.failures + 1,
          problem: end.reason,
          ...(end.beginsAnew ? { since: null, cursor: null } : {}),
        };
    }
  }

  addWaiting(stream: string, { eventRef, subject, at }: WaitingForAccount): void {
    if (!this.waiting.has(eventRef))
      this.waiting.set(eventRef, { stream, subject, at, isLinked: false });
  }

  markLinked(stream: string): void {
    for (const row of this.waiting.values()) if (row.stream === stream) row.isLinked = true;
  }

  waitedKeys(before: number, atMost: number): readonly WaitedKey[] {
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

  dropWaited(subject: string, before: number): void {
    for (const [ref, row] of this.waiting)
      if (row.subject === subject && row.at < before) this.waiting.delete(ref);
  }

  waitAgain(subject: string, at: number): void {
    for (const row of this.waiting.values())
      if (row.subject === subject) Object.assign(row, { isLinked: true, at });
  }
}

const AT_ONCE = { after: { ms: 0 }, failures: 0, reason: null, retriesParked: false } as const;
const NO_WALK = { since: null, cursor: null, failures: 0, problem: null, lateSince: null } as const;

const nameOfWork = (of: Scope & { readonly account: string }): string =>
  `${scopeKey(of)} ${of.account}`;
const dateOf = (at: number | null): Date | null => (at === null ? null : new Date(at));

/** The accounts to pay, as one process reaches them. */
export function simulatedPaymentWork(
  table: SimulatedPaymentTable,
  line: Line,
  process: number,
): PaymentWork & WorkAsks {
  const ask = <T>(question: () => T): Promise<T> => line.read('payments', away, question);
  const change = <T>(work: () => T): Promise<T> => line.write('payments', away, work);
  return {
    // Where nothing is due a look changes nothing.
    claim: (room) => (table.due > 0 ? change : ask)(() => table.claimWork(room, process)),
    release: (work, next) => change(() => table.releaseWork(work, next, process)),
    ask: (asked) => change(() => table.ask(asked)),
    wake: (account) => change(() => table.wake(account)),
  };
}

/** What is known of providers, as one process reaches it. */
export function simulatedProviderRows(table: SimulatedPaymentTable, line: Line): ProviderRows {
  const ask = <T>(question: () => T): Promise<T> => line.read('payments', away, question);
  const change = <T>(work: () => T): Promise<T> => line.write('payments', away, work);
  return {
    noteEvent: (scope, at) =>
      change(() => {
        const row = table.provider(scope);
        row.lastEventAt = Math.max(row.lastEventAt ?? at, at);
      }),
    noteConnection: (scope) =>
      change(() => {
        const syncDueAt = table.clock() + DAY_MS;
        const claim = { leasedUntil: null, claimedBy: null };
        Object.assign(table.provider(scope), { syncDueAt, ...NO_WALK, ...claim });
      }),
    addWaiting: (_scope, stream, event) => change(() => table.addWaiting(stream, event)),
    markLinked: (stream) => change(() => table.markLinked(stream)),
    claimSyncs: (process, atMost) =>
      (table.due > 0 ? change : ask)(() => table.claimSyncs(process, atMost)),
    keepSync: (claim, at) => change(() => table.keepSync(claim, at)),
    endSync: (claim, end) => change(() => table.endSync(claim, end)),
    waitedKeys: (before, atMost) => ask(() => table.waitedKeys(before, atMost)),
    dropWaited: (subject, before) => change(() => table.dropWaited(subject, before)),
    waitAgain: (subject, at) => change(() => table.waitAgain(subject, at)),
  };
}
