// Over 5 s: properties over hundreds of histories of 50 commands each, each in a log of its own.
import fc from 'fast-check';
import {
  AccountPostings,
  LEDGER_ACCOUNTS,
  POSTED_TYPES,
  type Entry,
  type PostedEvent,
} from '../../src/bookkeeping/postings.js';
import { decide } from '../domain/support/decisions.js';
import type { AccountEvent } from '../../src/domain/account/account.events.js';
import { evolve, initialState, type AccountState } from '../../src/domain/account/account.state.js';
import { EventCodec } from '../../src/event-log/codec.js';
import type { Position } from '../../src/event-log/event-log.js';
import { KeyedNames } from '../../src/privacy/keyed-names.js';
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
  private readonly core = {
    log: new InMemoryEventLog(() => this.time),
    codec: new EventCodec(new InMemorySubjectKeys(true)),
    names,
  };

  /** Whether the first event is the opening. */
  get isOpen(): boolean {
    return this.history[0]?.event.type === 'AccountOpened';
  }

  static async of(steps: readonly Step[]): Promise<Ledger> {
    const ledger = new Ledger();
    let state: AccountState = initialState;
    await playOut(steps, async (command, _, now) => {
      ledger.time = now;
      ledger.began ||= now;
      const decision = decide(state, command);
      const events = 'events' in decision ? decision.events : [];
      state = events.reduce(evolve, state);
      if (events.length > 0) await ledger.append(events);
      return state;
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
