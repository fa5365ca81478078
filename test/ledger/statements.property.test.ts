import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import {
  AccountPostings,
  LEDGER_ACCOUNTS,
  POSTED_TYPES,
  type Entry,
  type PostedEvent,
} from '../../src/bookkeeping/postings.js';
import type { AccountEvent } from '../../src/domain/account/account.events.js';
import { decide } from '../../src/domain/account/account.decider.js';
import { evolve, initialState, type AccountState } from '../../src/domain/account/account.state.js';
import { EventCodec } from '../../src/event-log/codec.js';
import type { Position } from '../../src/event-log/event-log.js';
import { KeyedNames } from '../../src/privacy/keyed-names.js';
import { history, playOut, UNITS, type Step } from '../properties/support/account-histories.js';
import { Postings } from '../properties/support/postings.js';
import { InMemoryEventLog } from '../support/in-memory-event-log.js';
import { InMemorySubjectKeys } from '../support/in-memory-subject-keys.js';
import { statementOfAccount } from '../support/operations.js';
import { runs } from '../support/property-runs.js';

/** Statements of any history, against sums over rewards that know nothing of entries. */

const SCOPE = { tenant: 'demo', mode: 'live' } as const;
const NAMES = new KeyedNames(Buffer.alloc(32, 7));
const STREAM = NAMES.accountStream(SCOPE, NAMES.accountRef(SCOPE, 'acme'));
const ENVELOPE = {
  ...SCOPE,
  correlationId: 'c',
  causationId: 'c',
  actor: { kind: 'api-key' as const, id: 'live-1' },
  idempotency: null,
};

interface Recorded {
  readonly event: AccountEvent;
  readonly recordedAt: number;
  /** Of its append: the positions that clients get. */
  readonly position: Position;
}

async function recorded(steps: readonly Step[]) {
  let time = 0;
  const log = new InMemoryEventLog(() => time);
  const core = { log, codec: new EventCodec(new InMemorySubjectKeys(true)), names: NAMES };
  const all: Recorded[] = [];
  let state: AccountState = initialState;
  await playOut(steps, async (command, _step, now) => {
    const decision = decide(state, command);
    const events = 'events' in decision ? decision.events : [];
    if (events.length === 0) return state;
    time = now;
    const ids = events.map(() => randomUUID());
    const envelope = { ...ENVELOPE, commandId: randomUUID() };
    const expected = all.length === 0 ? 'no-stream' : BigInt(all.length - 1);
    const result = await log.append(
      STREAM,
      expected,
      await core.codec.encode(events, envelope, ids),
    );
    if (result.kind === 'conflict') throw new Error('the account has another writer');
    for (const event of events) all.push({ event, recordedAt: now, position: result.position });
    state = events.reduce(evolve, state);
    return state;
  });
  const statement = (of: { position?: string; from?: number; to?: number }) =>
    statementOfAccount(
      core,
      SCOPE,
      {
        accountId: 'acme',
        ...(of.position === undefined ? {} : { position: of.position }),
        ...(of.from === undefined ? {} : { from: new Date(of.from).toISOString() }),
        ...(of.to === undefined ? {} : { to: new Date(of.to).toISOString() }),
      },
      time,
    );
  return { all, statement, end: time };
}

/** What may be spent of each unit. */
function independently(events: readonly Recorded[], clock: number): Record<string, number> {
  const postings = new Postings();
  for (const { event } of events) postings.post(event);
  return Object.fromEntries(
    UNITS.map((unit) => [unit.toLowerCase(), postings.availableAt(unit, clock)]),
  );
}

function amounts<T extends { readonly unit: string }>(
  units: readonly T[],
  of: (unit: T) => number,
): Record<string, number> {
  const shown = Object.fromEntries(units.map((unit) => [unit.unit.toLowerCase(), of(unit)]));
  return Object.fromEntries(
    UNITS.map((unit) => [unit.toLowerCase(), shown[unit.toLowerCase()] ?? 0]),
  );
}

const share = fc.double({ min: 0, max: 1, noNaN: true });

test('a statement up to any position agrees with an independent fold', async () => {
  await fc.assert(
    fc.asyncProperty(history, share, async (steps, part) => {
      const { all, statement } = await recorded(steps);
      const at = all[Math.floor(part * (all.length - 1))];
      if (at === undefined) return;
      const upTo = all.slice(0, all.findLastIndex(({ position }) => position === at.position) + 1);
      const { units } = await statement({ position: at.position });
      expect(amounts(units, ({ closing }) => closing)).toEqual(independently(upTo, at.recordedAt));
      for (const { opening, closing, lines } of units) {
        expect(opening + lines.reduce((sum, line) => sum + line.amount, 0)).toBe(closing);
        expect(lines.at(-1)?.balance ?? closing).toBe(closing);
      }
    }),
    { numRuns: runs(100) },
  );
});

test('dates count before they are recorded, periods join, and the same question has the same bytes', async () => {
  await fc.assert(
    fc.asyncProperty(history, fc.tuple(share, share, share), async (steps, parts) => {
      const { all, statement, end } = await recorded(steps);
      const [{ recordedAt: start } = { recordedAt: end }] = all;
      if (all.length === 0) return;
      const [first = start, middle = start, last = start] = parts
        .map((part) => start + Math.floor(part * (end - start)))
        .sort((a, b) => a - b);
      const to = Math.max(middle + 1, last);
      const before = (await statement({ from: first, to: middle })).units;
      const after = (await statement({ from: middle + 1, to })).units;
      const balances = [
        [first - 1, amounts(before, ({ opening }) => opening)],
        [middle, amounts(before, ({ closing }) => closing)],
        [middle, amounts(after, ({ opening }) => opening)],
        [to, amounts(after, ({ closing }) => closing)],
      ] as const;
      for (const [at, balance] of balances)
        expect(balance).toEqual(
          independently(
            all.filter(({ recordedAt }) => recordedAt <= at),
            at,
          ),
        );
      const again = await statement({ from: first, to: middle });
      expect(JSON.stringify(again.units)).toBe(JSON.stringify(before));
    }),
    { numRuns: runs(100) },
  );
});

const isPosted = (one: Recorded): one is Recorded & { readonly event: PostedEvent } =>
  POSTED_TYPES.some((type) => type === one.event.type);

test('debits equal credits in every unit, and no ledger account is ever negative', async () => {
  await fc.assert(
    fc.asyncProperty(history, async (steps) => {
      const { all, end } = await recorded(steps);
      const postings = new AccountPostings();
      const posted = all
        .filter(isPosted)
        .map((one): Entry => ({ ...one, eventId: one.position, actor: 'system:test' }))
        .flatMap((entry) => postings.post(entry));
      const standing = new Map(LEDGER_ACCOUNTS.map((name) => [name, 0]));
      for (const { debit, credit, amount } of [...posted, ...postings.settle(end)]) {
        expect(amount).toBeGreaterThan(0);
        standing.set(debit, (standing.get(debit) ?? 0) - amount);
        standing.set(credit, (standing.get(credit) ?? 0) + amount);
      }
      const assigned = all.reduce(
        (sum, { event }) =>
          event.type === 'RewardGranted' && event.value.type === 'CREDIT'
            ? sum + event.value.assignedCredit
            : sum,
        0,
      );
      const { programme, ...others } = Object.fromEntries(standing);
      expect(programme).toBe(0 - assigned);
      expect(Object.values(others).reduce((sum, value) => sum + value, 0)).toBe(assigned);
      expect(Object.values(others).every((value) => value >= 0)).toBe(true);
    }),
    { numRuns: runs(100) },
  );
});
