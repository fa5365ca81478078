// Over 5 s: properties over hundreds of histories of 50 commands each, each in a log of its own.
import fc from 'fast-check';
import { dailyFiguresProjector } from '../../projections/daily-figures/projector.js';
import type { CreditItemRow, DailyCreditRow } from '../../projections/daily-figures/table.js';
import {
  AccountPostings,
  LEDGER_ACCOUNTS,
  POSTED_TYPES,
  type Entry,
  type PostedEvent,
} from '../../src/bookkeeping/postings.js';
import { decide, type CompleteCommand } from '../domain/support/decisions.js';
import type { AccountEvent } from '../../src/domain/account/account.events.js';
import { evolve, initialState, type AccountState } from '../../src/domain/account/account.state.js';
import { EventCodec } from '../../src/event-log/codec.js';
import type { Position } from '../../src/event-log/event-log.js';
import { KeyedNames } from '../../src/privacy/keyed-names.js';
import { FoldedRows } from '../../src/projecting/generations/folded-rows.js';
import { anAccount } from '../support/account-events.js';
import { ledgerEventOf } from '../support/test-ledger.js';
import { availableByFacts } from '../properties/support/available-by-facts.js';
import { historyWithErasure, playOut, type Step } from '../properties/support/account-histories.js';
import { InMemoryEventLog } from '../support/in-memory-event-log.js';
import { InMemorySubjectKeys } from '../support/in-memory-subject-keys.js';
import { statementOfAccount } from '../support/operations.js';
import { runs } from '../support/property-runs.js';
import { encodedEvents } from '../support/encoded-events.js';

/**
 * Statements of many random accounts, against a fold that knows nothing of postings: sums over
 * rewards, by their dates.
 */

const SCOPE = { tenant: 'demo', mode: 'live' } as const;
const names = new KeyedNames(Buffer.alloc(32, 7));
const ACCOUNT = anAccount('acme');

interface Recorded {
  readonly event: AccountEvent;
  readonly recordedAt: number;
  readonly position: Position;
}

/** An account that commands were sent to through the decider, each at its time, in its own log. */
class Ledger {
  readonly history: Recorded[] = [];
  /** Where an append ended: the positions that clients get. */
  readonly ends: Position[] = [];
  began = 0;
  time = 0;
  /** A moderation kept a job from recording a date. */
  keptBack = false;
  private readonly core = {
    log: new InMemoryEventLog(() => this.time),
    codec: new EventCodec(new InMemorySubjectKeys(true)),
    names,
  };

  /** Whether the first event is the opening. */
  get isOpen(): boolean {
    return this.history[0]?.event.type === 'AccountOpened';
  }

  /** @param jobs record dates before each command. @param lateMs until the recording. */
  static async of(steps: readonly Step[], { jobs = false, lateMs = 0 } = {}): Promise<Ledger> {
    const ledger = new Ledger();
    let state: AccountState = initialState;
    const carryOut = async (command: CompleteCommand): Promise<AccountState> => {
      const decision = decide(state, command);
      const events = 'events' in decision ? decision.events : [];
      ledger.keptBack ||= command.type === 'SettleReward' && 'heldBy' in decision;
      state = events.reduce(evolve, state);
      if (events.length > 0) await ledger.append(events);
      return state;
    };
    await playOut(steps, async (command, _, now) => {
      ledger.time = now + lateMs;
      ledger.began ||= now;
      const rewardIds = jobs && state.status === 'open' ? [...state.rewards.keys()] : [];
      for (const rewardId of rewardIds) await carryOut({ type: 'SettleReward', rewardId, now });
      return carryOut(command);
    });
    return ledger;
  }

  statement(asked: { readonly position?: Position; readonly from?: string; readonly to?: string }) {
    const core = { ...this.core, tenants: { now: async () => this.time } };
    return statementOfAccount(core, SCOPE, { account: 'acme', ...asked });
  }

  private async append(events: readonly AccountEvent[]): Promise<void> {
    const before = this.history.length;
    await this.core.log.append(
      names.accountStream(SCOPE, names.accountRef(SCOPE, 'acme')),
      before === 0 ? 'no-stream' : BigInt(before - 1),
      await encodedEvents(this.core.codec, SCOPE, events),
    );
    for (const [index, event] of events.entries())
      this.history.push({ event, recordedAt: this.time, position: `m-${before + index + 1}` });
    this.ends.push(`m-${this.history.length}`);
  }
}

const lower = <F extends 'opening' | 'closing'>(
  units: readonly ({ readonly unit: string } & Readonly<Record<F, number>>)[],
  figure: F,
): Record<string, number> =>
  Object.fromEntries(units.map((unit) => [unit.unit.toLowerCase(), unit[figure]]));

const share = fc.double({ min: 0, max: 0.999, noNaN: true });

test('at any position a statement agrees with an independent fold, and its lines with its balances', async () => {
  await fc.assert(
    fc.asyncProperty(historyWithErasure, share, async (steps, part) => {
      const ledger = await Ledger.of(steps);
      const position = ledger.ends[Math.floor(part * (ledger.ends.length - 1))];
      if (position === undefined || !ledger.isOpen) return;
      const upTo = ledger.history.slice(0, Number(position.slice(2))).map(({ event }) => event);
      const { units } = await ledger.statement({ position });
      expect(lower(units, 'closing')).toEqual(
        availableByFacts(upTo, ledger.history[upTo.length - 1]?.recordedAt ?? 0),
      );
      for (const { opening, closing, lines } of units) {
        expect(opening + lines.reduce((sum, line) => sum + line.amount, 0)).toBe(closing);
        expect(lines.at(-1)?.balance ?? closing).toBe(closing);
      }
    }),
    { numRuns: runs(150) },
  );
});

test('at any time due dates count before they are recorded, periods join, and the same question gives the same bytes', async () => {
  await fc.assert(
    fc.asyncProperty(historyWithErasure, fc.tuple(share, share, share), async (steps, parts) => {
      const ledger = await Ledger.of(steps);
      if (!ledger.isOpen || ledger.time - ledger.began < 1_000) return;
      const { began, time } = ledger;
      const [first = began, middle = began, last = began] = parts
        .map((part) => began + Math.floor(part * (time - began)))
        .sort((a, b) => a - b);
      const iso = (at: number): string => new Date(at).toISOString();
      const ask = (from: number, to: number) => ledger.statement({ from: iso(from), to: iso(to) });
      const end = Math.max(middle + 1, last);
      const [before, after] = [await ask(first, middle), await ask(middle + 1, end)];
      for (const [at, balance] of [
        [first - 1, lower(before.units, 'opening')],
        [middle, lower(before.units, 'closing')],
        [middle, lower(after.units, 'opening')],
        [end, lower(after.units, 'closing')],
      ] as const) {
        const past = ledger.history.filter(({ recordedAt }) => recordedAt <= at);
        const known = availableByFacts(
          past.map(({ event }) => event),
          at,
        );
        for (const [unit, said] of Object.entries(balance))
          expect({ at, [unit]: said }).toEqual({ at, [unit]: known[unit] ?? 0 });
      }
      expect(JSON.stringify(await ask(first, middle))).toBe(JSON.stringify(before));
    }),
    { numRuns: runs(100) },
  );
});

const DAY_MS = 86_400_000;
const { handles, tables } = dailyFiguresProjector;

/** The available credit at the end of a day by the read model of days, by unit in lower case. */
function availableByDays(rows: FoldedRows, end: number): Map<string, bigint> {
  const available = new Map<string, bigint>();
  const add = (unit: string, amount: bigint | number): void =>
    void available.set(unit, (available.get(unit) ?? 0n) + BigInt(amount));
  for (const row of rows.rowsOf('daily_credit') as Iterable<DailyCreditRow>)
    if (Date.parse(row.day) <= end)
      for (const [sign, figures] of [
        [1n, [row.imported, row.issued, row.restored]],
        [-1n, [row.redeemed, row.expired, row.cancelled]],
      ] as const)
        for (const figure of figures) add(row.unit_key, sign * BigInt(figure));
  for (const item of rows.rowsOf('credit_items') as Iterable<CreditItemRow>) {
    if ((item.due_at ?? Infinity) > end) continue;
    const left = item.assigned - item.redeemed;
    const isOver = (item.date_expires ?? Infinity) <= end || item.redeems_automatically;
    add(item.unit_key, item.phase === 'AVAILABLE' ? -left : isOver ? 0 : left);
  }
  return available;
}

test('the days of a tenant add up to the statements of its accounts, however late entries are recorded', async () => {
  // Entries and dates are 13 minutes after the hour.
  const lateness = fc.constantFrom(0, 50 * 60_000);
  await fc.assert(
    fc.asyncProperty(historyWithErasure, lateness, async (steps, lateMs) => {
      const ledger = await Ledger.of(steps, { jobs: true, lateMs });
      if (!ledger.isOpen || ledger.keptBack) return;
      const { history, began, time } = ledger;
      const rows = new FoldedRows(tables);
      for (const { event, recordedAt } of history)
        if ((handles as ReadonlySet<string>).has(event.type))
          expect(
            rows.attempt(dailyFiguresProjector, ledgerEventOf(ACCOUNT, event, { recordedAt })),
          ).toBeUndefined();
      for (let end = began - (began % DAY_MS) + DAY_MS - 1; end < time; end += DAY_MS) {
        const { units } = await ledger.statement({ to: new Date(end).toISOString() });
        const byDays = availableByDays(rows, end);
        for (const [unit, closing] of Object.entries(lower(units, 'closing')))
          expect({ end, [unit]: byDays.get(unit) ?? 0n }).toEqual({ end, [unit]: BigInt(closing) });
      }
    }),
    { numRuns: runs(100) },
  );
});

const isPosted = (event: AccountEvent): event is PostedEvent =>
  POSTED_TYPES.some((type) => type === event.type);

test('debits equal credits in every unit, and no ledger account is ever negative', async () => {
  await fc.assert(
    fc.asyncProperty(historyWithErasure, async (steps) => {
      const { history, time } = await Ledger.of(steps);
      const postings = new AccountPostings();
      const posted = history.flatMap(({ event, ...rest }) => {
        if (!isPosted(event)) return [];
        const entry: Entry = { ...rest, event, eventId: rest.position, actor: 'system:test' };
        return postings.post(entry);
      });
      const standing = new Map<string, Record<string, number>>();
      for (const { unitKey, debit, credit, amount } of [...posted, ...postings.settle(time)]) {
        expect(amount).toBeGreaterThan(0);
        const of =
          standing.get(unitKey) ?? Object.fromEntries(LEDGER_ACCOUNTS.map((name) => [name, 0]));
        standing.set(unitKey, of);
        of[debit] = (of[debit] ?? 0) - amount;
        of[credit] = (of[credit] ?? 0) + amount;
      }
      const assigned = new Map<string, number>();
      for (const { event } of history)
        if (event.type === 'RewardGranted' && event.value.type === 'CREDIT') {
          const key = event.value.unit.toLowerCase();
          assigned.set(key, (assigned.get(key) ?? 0) + event.value.assignedCredit);
        }
      for (const [unitKey, { programme, ...others }] of standing) {
        const amounts = Object.values(others);
        expect([programme, amounts.reduce((sum, value) => sum + value, 0)]).toEqual([
          0 - (assigned.get(unitKey) ?? 0),
          assigned.get(unitKey),
        ]);
        expect(Math.min(...amounts)).toBeGreaterThanOrEqual(0);
      }
    }),
    { numRuns: runs(100) },
  );
});
