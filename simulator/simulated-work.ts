import {
  FIRST,
  laneName,
  PLACES_FOR_FIRST,
  type AdditionMode,
  type ClaimedWork,
  type NewWork,
  type SettledWork,
  type ClaimHolder,
  type WorkOutcome,
  type ClaimLimits,
  type WorkStore,
} from '../src/work-queue/work-items.js';
import type { Line } from './connection.js';
import { StoreAway } from './store-away.js';

interface Row
  extends
    Omit<ClaimedWork, 'lateMs' | 'waitingMs' | 'firstDueAt' | 'claimedUntil'>,
    Pick<NewWork, 'kind'> {
  readonly claim: { readonly by: number; readonly at: number; readonly until: number } | null;
  readonly dueAt: number;
  readonly waitingSince: number;
  readonly isGivenUp: boolean;
  readonly reason: string | null;
}

/** Clocks of the server: leases end by the one that never goes back. */
interface Clocks {
  now(): number;
  elapsed(): number;
}

const ANSWERED_WITHIN_MS = 10_000;
const nameOf = (kind: string, id: string): string => `${kind} ${id}`;

/** The queue as its server holds it. */
export class WorkTable {
  private readonly rows = new Map<string, Row>();

  /** @param present processes that live. */
  constructor(
    private readonly clocks: Clocks,
    private readonly present: ReadonlySet<number>,
  ) {}

  get all(): readonly Row[] {
    return [...this.rows.values()];
  }

  /** Items that are due or worked on: the kind, and the last reason. */
  due(): readonly string[] {
    const now = this.clocks.now();
    return this.all
      .filter((row) => row.dueAt <= now)
      .map(({ kind, reason }) => `${kind} ${reason ?? ''}`);
  }

  add(work: readonly NewWork[], as: AdditionMode = 'earlier'): void {
    for (const { kind, id, tenant, lane = '', payload, ...given } of work) {
      const before = this.rows.get(nameOf(kind, id));
      if (before !== undefined && as === 'missing') continue;
      const dueAt = given.dueAt ?? this.clocks.now();
      const isReplaced = before === undefined || as === 'replacement';
      const isNew = isReplaced || before.isGivenUp;
      this.rows.set(nameOf(kind, id), {
        kind,
        id,
        tenant: before?.tenant ?? tenant,
        lane: isReplaced ? lane : before.lane,
        claim: before?.claim ?? null,
        dueAt: isNew ? dueAt : Math.min(before.dueAt, dueAt),
        waitingSince: isNew ? dueAt : Math.min(before.waitingSince, dueAt),
        payload: isReplaced ? payload : { ...before.payload, ...payload },
        attempts: isNew ? 0 : before.attempts,
        woken: (before?.woken ?? -1n) + 1n,
        isGivenUp: false,
        reason: null,
      });
    }
  }

  wake({ kind, id }: Pick<NewWork, 'kind' | 'id'>): void {
    const row = this.rows.get(nameOf(kind, id));
    if (row === undefined) return;
    const [now, woken] = [this.clocks.now(), row.woken + 1n];
    const [dueAt, waitingSince] = [Math.min(row.dueAt, now), Math.min(row.waitingSince, now)];
    this.rows.set(nameOf(kind, id), { ...row, dueAt, waitingSince, woken });
  }

  isAnyDue(kind: string): boolean {
    return this.openRows(kind).length > 0;
  }

  claim({ kind, items, ofTenant, ofLane, ...room }: ClaimLimits): ClaimedWork[] {
    const laneOf = (row: Row): string => laneName(row.tenant, row.lane);
    const busy = new Map<string, number>();
    for (const row of this.rows.values())
      if (row.kind === kind && row.claim) busy.set(laneOf(row), (busy.get(laneOf(row)) ?? 0) + 1);
    const ofTenants = new Map<string, number>();
    for (const one of room.underWay) ofTenants.set(one, (ofTenants.get(one) ?? 0) + 1);
    const places = new Map<string, number>();
    const inLane = this.openRows(kind).flatMap((row) => {
      const lane = laneOf(row);
      const place = (places.get(lane) ?? 0) + 1;
      const atMost = room.narrow.includes(lane) ? 1 : ofLane;
      if (room.paused.includes(lane) || place + (busy.get(lane) ?? 0) > atMost) return [];
      places.set(lane, place);
      return { row, place, isFirst: row.lane.endsWith(FIRST) };
    });
    // The lanes of a tenant take turns.
    const due = inLane
      .sort((a, b) => Number(b.isFirst) - Number(a.isFirst) || a.place - b.place)
      .flatMap(({ row, isFirst }) => {
        const place = (ofTenants.get(row.tenant) ?? 0) + 1;
        if (place > ofTenant + (isFirst ? PLACES_FOR_FIRST : 0)) return [];
        ofTenants.set(row.tenant, place);
        return { row, order: [place, Number(row.tenant <= room.after)] };
      });
    const inOrder = due.sort(
      (a, b) => compare(a.order, b.order) || (a.row.tenant < b.row.tenant ? -1 : 1),
    );
    return inOrder.slice(0, items).map(({ row }) => this.claimed(row, room));
  }

  private claimed(
    row: Row,
    { process, leaseMs }: Pick<ClaimLimits, 'process' | 'leaseMs'>,
  ): ClaimedWork {
    const at = this.clocks.elapsed();
    const claim = { by: process, at, until: at + leaseMs };
    const { kind, id, tenant, lane, payload, woken } = row;
    const attempts = row.attempts + 1;
    this.rows.set(nameOf(kind, id), { ...row, attempts, claim });
    const now = this.clocks.now();
    const firstDueAt = row.waitingSince;
    const late = { lateMs: now - row.dueAt, waitingMs: now - firstDueAt, firstDueAt };
    const claimedUntil = String(claim.until);
    return { id, tenant, lane, attempts, payload, woken, claimedUntil, ...late };
  }

  settle(
    { kind, process }: Pick<ClaimHolder, 'kind' | 'process'>,
    settled: readonly SettledWork[],
  ): void {
    for (const { item, outcome } of settled) {
      const name = nameOf(kind, item.id);
      const row = this.rows.get(name);
      if (row?.claim?.by !== process || String(row.claim.until) !== item.claimedUntil) continue;
      const isWoken = row.woken !== item.woken;
      const released = { ...row, claim: null, reason: 'reason' in outcome ? outcome.reason : null };
      const now = this.clocks.now();
      if (isWoken) {
        const isDone = outcome.kind === 'done';
        const attempts = isDone ? 0 : Math.min(row.attempts, attemptsAfter(item, outcome));
        const waitingSince = isDone ? Math.max(now, row.dueAt) : row.waitingSince;
        this.rows.set(name, { ...released, attempts, waitingSince });
      } else if (outcome.kind === 'done') this.rows.delete(name);
      else if (outcome.kind === 'dead') this.rows.set(name, { ...released, isGivenUp: true });
      else {
        const { after } = outcome;
        const dueAt = 'at' in after ? after.at : now + after.ms;
        this.rows.set(name, {
          ...released,
          dueAt,
          waitingSince: outcome.waits ? dueAt : row.waitingSince,
          attempts: attemptsAfter(item, outcome),
          payload: outcome.payload ?? row.payload,
        });
      }
    }
  }

  releaseOrphans({ kind, process, ids, missed }: ClaimHolder): readonly number[] {
    const now = this.clocks.elapsed();
    const gone = new Set<number>();
    for (const [name, row] of this.rows) {
      if (row.kind !== kind || row.claim === null) continue;
      const { by, at, until } = row.claim;
      if (by !== process && !this.present.has(by)) gone.add(by);
      if (by === process && ids.includes(row.id)) continue;
      const isLost = by === process && at < now - ANSWERED_WITHIN_MS;
      if (until < now || isLost || (gone.has(by) && missed.includes(by)))
        this.rows.set(name, { ...row, claim: null });
    }
    return [...gone];
  }

  private openRows(kind: string): readonly Row[] {
    const now = this.clocks.now();
    return this.all
      .filter(
        (row) => row.kind === kind && row.claim === null && !row.isGivenUp && row.dueAt <= now,
      )
      .sort((a, b) => a.dueAt - b.dueAt);
  }
}

const compare = ([a = 0, c = 0]: readonly number[], [b = 0, d = 0]: readonly number[]): number =>
  a - b || c - d;

function attemptsAfter(item: ClaimedWork, outcome: WorkOutcome): number {
  if (outcome.kind !== 'again') return item.attempts;
  return outcome.isPostponed ? item.attempts - 1 : (outcome.attempts ?? item.attempts);
}

const away = (): Error => new StoreAway('the simulated queue is away');

/** The queue as one process reaches it. */
export function simulatedWork(table: WorkTable, line: Line): WorkStore {
  return {
    add: (...added) => line.write('jobs', away, () => table.add(...added)),
    wake: (item) => line.write('jobs', away, () => table.wake(item)),
    isAnyDue: (kind) => line.read('jobs', away, () => table.isAnyDue(kind)),
    claim: (room) => line.write('jobs', away, () => table.claim(room)),
    settle: (...settled) => line.write('jobs', away, () => table.settle(...settled)),
    // Where nothing is claimed a look changes nothing.
    releaseOrphans: (hands) =>
      table.all.some(({ claim }) => claim !== null)
        ? line.write('jobs', away, () => table.releaseOrphans(hands))
        : line.read('jobs', away, () => []),
  };
}
