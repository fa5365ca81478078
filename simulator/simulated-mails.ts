import {
  LEASE_MS,
  type ClaimedMail,
  type ClaimRoom,
  type MailClaim,
  type Outcome,
  type PlannedMail,
} from '../src/mails/deliveries/mail-rows.js';
import { RETRIED_FOR_MS } from '../src/mails/deliveries/mail-retries.js';
import type { MailStore } from '../src/mails/deliveries/mail-store.js';
import type { Line } from './connection.js';
import { StoreAway } from './store-away.js';

const away = (): Error => new StoreAway('the simulated database is away');
const SETTLED_AT_ONCE = 100;

/** A mail as its server holds it; times are epoch milliseconds. */
export interface SimulatedMail extends PlannedMail {
  state: 'PENDING' | 'SENDING' | 'DELIVERED' | 'DEAD' | 'UNKNOWN';
  attempts: number;
  reason: string | null;
  dueAt: number | null;
  leasedUntil: number | null;
  claimedBy: number | null;
  retriedUntil: number | null;
  endedAt: number | null;
}

const ENDS = {
  delivered: 'DELIVERED',
  unknown: 'UNKNOWN',
  refused: 'DEAD',
  'not-sent': 'DEAD',
} as const;

export interface MailTableParts {
  /** Epoch milliseconds of the server. */
  readonly clock: () => number;
  /** Processes that the server knows to be alive. */
  readonly present: ReadonlySet<number>;
  /** The newest position of the log. */
  readonly head: () => bigint;
}

/** The mails that all processes share. */
export class SimulatedMailTable {
  /** By their ids. */
  readonly rows = new Map<string, SimulatedMail>();
  /** The newest position of the log when each mail was claimed last. */
  readonly claimedAt = new Map<string, bigint>();
  /** The newest position when the sending of each mail began last. */
  readonly begunAt = new Map<string, bigint>();

  constructor(private readonly parts: MailTableParts) {}

  /** Whether one is due or being sent. */
  get isBusy(): boolean {
    const now = this.parts.clock();
    return [...this.rows.values()].some(
      ({ state, dueAt }) => state === 'SENDING' || (state === 'PENDING' && (dueAt ?? 0) <= now),
    );
  }

  plan(mail: PlannedMail, dueAt: number): boolean {
    if (this.rows.has(mail.id)) return false;
    this.rows.set(mail.id, {
      ...mail,
      state: 'PENDING',
      attempts: 0,
      reason: null,
      dueAt,
      leasedUntil: null,
      claimedBy: null,
      retriedUntil: null,
      endedAt: null,
    });
    return true;
  }

  claimDue(room: ClaimRoom): readonly ClaimedMail[] {
    const waiting = [...this.rows.values()].filter((row) => this.isClaimable(row, room.process));
    const tenants = [...new Set(waiting.map(({ tenant }) => tenant))].sort();
    const behind = tenants.filter((tenant) => tenant > room.after);
    const inTurn = [...behind, ...tenants.filter((tenant) => tenant <= room.after)];
    const due = inTurn.flatMap((tenant) => {
      const left = room.ofTenant - room.underWay.filter((one) => one === tenant).length;
      return waiting
        .filter((row) => row.tenant === tenant)
        .sort((a, b) => (a.dueAt ?? 0) - (b.dueAt ?? 0))
        .slice(0, Math.max(0, left));
    });
    return due.slice(0, room.mails).map((row) => {
      row.leasedUntil = this.parts.clock() + LEASE_MS;
      row.claimedBy = room.process;
      this.claimedAt.set(row.id, this.parts.head());
      const { id, tenant, mode, type, account, person, about, event, created, attempts } = row;
      return { id, tenant, mode, type, account, person, about, event, created, attempts };
    });
  }

  beginSending(id: string, process: number): boolean {
    const row = this.rows.get(id);
    const now = this.parts.clock();
    const isMine = row?.state === 'PENDING' && row.claimedBy === process;
    if (!isMine || (row.leasedUntil ?? 0) <= now) return false;
    row.state = 'SENDING';
    this.begunAt.set(id, this.parts.head());
    row.attempts += 1;
    row.leasedUntil = now + LEASE_MS;
    return true;
  }

  recordOutcome({ id, process, attempts }: MailClaim, outcome: Outcome): void {
    const row = this.rows.get(id);
    if (row?.claimedBy !== process || row.attempts !== attempts) return;
    if (row.state !== 'PENDING' && row.state !== 'SENDING') return;
    const now = this.parts.clock();
    row.reason = 'reason' in outcome ? outcome.reason : null;
    row.leasedUntil = null;
    row.claimedBy = null;
    if (outcome.kind !== 'failed' && outcome.kind !== 'postponed') {
      row.state = ENDS[outcome.kind];
      row.dueAt = null;
      row.endedAt = now;
      return;
    }
    const next = now + outcome.inMs;
    const until = row.retriedUntil ?? now + RETRIED_FOR_MS;
    const isOver = outcome.kind === 'failed' && next > until;
    if (outcome.kind === 'failed') row.retriedUntil = until;
    row.state = isOver ? 'DEAD' : 'PENDING';
    row.dueAt = isOver ? null : next;
    row.endedAt = isOver ? now : null;
  }

  settleLost(process: number): number {
    const now = this.parts.clock();
    const lost = [...this.rows.values()].filter(
      ({ state, leasedUntil, claimedBy }) =>
        state === 'SENDING' &&
        ((leasedUntil ?? now) < now || this.isClaimOfGone(claimedBy, process)),
    );
    for (const row of lost.slice(0, SETTLED_AT_ONCE)) {
      row.state = 'UNKNOWN';
      row.reason = 'the process that sent it ended';
      row.dueAt = null;
      row.endedAt = now;
      row.leasedUntil = null;
      row.claimedBy = null;
    }
    return Math.min(lost.length, SETTLED_AT_ONCE);
  }

  purge(before: Date, limit: number): number {
    const old = [...this.rows.values()].filter(
      ({ endedAt }) => endedAt !== null && endedAt < before.getTime(),
    );
    for (const { id } of old.slice(0, limit)) this.rows.delete(id);
    return Math.min(old.length, limit);
  }

  private isClaimable({ state, dueAt, leasedUntil, claimedBy }: SimulatedMail, process: number) {
    const now = this.parts.clock();
    if (state !== 'PENDING' || dueAt === null || dueAt > now) return false;
    return leasedUntil === null || leasedUntil < now || this.isClaimOfGone(claimedBy, process);
  }

  private isClaimOfGone(claimedBy: number | null, process: number): boolean {
    return claimedBy !== null && claimedBy !== process && !this.parts.present.has(claimedBy);
  }
}

/** The mails as one process reaches them. */
export function simulatedMailStore(table: SimulatedMailTable, line: Line): MailStore {
  const change = <T>(work: () => T): Promise<T> => line.write('mails', away, work);
  return {
    plan: (mail, dueAt) => change(() => table.plan(mail, dueAt)),
    claimDue: (room) => change(() => table.claimDue(room)),
    beginSending: (id, process) => change(() => table.beginSending(id, process)),
    recordOutcome: (claim, outcome) => change(() => table.recordOutcome(claim, outcome)),
    settleLost: (process) => change(() => table.settleLost(process)),
    purge: (before, limit) => change(() => table.purge(before, limit)),
  };
}
