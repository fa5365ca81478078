import { FoldedRows } from '../../../src/projecting/generations/folded-rows.js';
import {
  forgottenBy,
  type LedgerEvent,
  type ProjectedEvent,
  type Projector,
  type Row,
} from '../../../src/projecting/projector.js';
import type { TestAccount } from '../../support/account-events.js';
import { ledgerEventOf } from '../../support/test-ledger.js';
import { InMemoryGeneration, rowsInOrder, type RowsOfTables } from './in-memory-generation.js';

/** The events that happened so far, and what follows from them. */
export interface Scenario {
  /** What happened next, in another account. */
  and(account: TestAccount, ...events: readonly ProjectedEvent[]): Scenario;
  /** The same, recorded this much after it took effect. */
  andLate(lateMs: number, account: TestAccount, ...events: readonly ProjectedEvent[]): Scenario;
  /** These rows are in the read model, and no others. Tables that are left out are empty. */
  then(rows: Readonly<Record<string, readonly Row[]>>): Promise<void>;
  /** The last event contradicts the rows, and changes none. */
  refused(reason: string): Promise<void>;
}

export type Given = (account: TestAccount, ...events: readonly ProjectedEvent[]) => Scenario;

/**
 * The scenarios of a projector: `given(account, ...events).then(rows)`. Each runs event by event,
 * in one batch, and as a rebuild folds it; all three must leave the same rows. At the end every
 * type of event that the projector handles must have changed a row in some scenario.
 */
export function describeProjector(projector: Projector, scenarios: (given: Given) => void): void {
  describe(`the projector of ${projector.name}`, () => {
    const effective = new Set<string>();
    scenarios((account, ...events) =>
      scenarioOf(projector, effective, happened([], account, events)),
    );

    test('changes rows at every type of event that it handles', () => {
      expect([...effective].sort()).toEqual([...projector.handles].sort());
    });
  });
}

function scenarioOf(
  projector: Projector,
  effective: Set<string>,
  events: readonly LedgerEvent[],
): Scenario {
  return {
    and: (account, ...more) => scenarioOf(projector, effective, happened(events, account, more)),
    andLate: (lateMs, account, ...more) =>
      scenarioOf(projector, effective, happened(events, account, more, lateMs)),

    async then(expected) {
      const none = Object.fromEntries(projector.tables.map(({ name }) => [name, []]));
      const rows = { ...none, ...expected };
      expect(await oneByOne(projector, events, effective)).toEqual(rows);
      expect(await inBatches(projector, events)).toEqual(rows);
      expect(folded(projector, events)).toEqual({ rows, failures: [] });
    },

    async refused(reason) {
      const before = await oneByOne(projector, events.slice(0, -1), effective);
      await expect(oneByOne(projector, events, new Set())).rejects.toThrow(reason);
      const { rows, failures } = folded(projector, events);
      expect({ rows, failures: failures.map(String) }).toEqual({
        rows: before,
        failures: [`Error: ${reason}`],
      });
    },
  };
}

/** Rows about forgotten people are cleaned one at a time here, all together in the other ways. */
async function oneByOne(
  projector: Projector,
  events: readonly LedgerEvent[],
  effective: Set<string>,
): Promise<RowsOfTables> {
  const generation = new InMemoryGeneration(projector, 1);
  for (const event of handledBy(projector, events)) {
    const before = JSON.stringify(generation.rows());
    await generation.apply([event]);
    if (JSON.stringify(generation.rows()) !== before) effective.add(event.event.type);
  }
  return generation.rows();
}

async function inBatches(
  projector: Projector,
  events: readonly LedgerEvent[],
): Promise<RowsOfTables> {
  const generation = new InMemoryGeneration(projector, 100);
  let batch: LedgerEvent[] = [];
  for (const event of handledBy(projector, events)) {
    if (forgottenBy(event)) {
      await generation.apply(batch);
      batch = [];
    }
    batch.push(event);
  }
  await generation.apply(batch);
  return generation.rows();
}

function folded(
  projector: Projector,
  events: readonly LedgerEvent[],
): { readonly rows: RowsOfTables; readonly failures: unknown[] } {
  const rows = new FoldedRows(projector.tables);
  const failures = handledBy(projector, events).flatMap((event) => {
    const failure = rows.attempt(projector, event);
    return failure ? [failure.failed] : [];
  });
  return { rows: rowsInOrder(projector, (table) => rows.rowsOf(table)), failures };
}

const handledBy = ({ handles }: Projector, events: readonly LedgerEvent[]): LedgerEvent[] =>
  events.filter(({ event }) => handles.has(event.type));

function happened(
  before: readonly LedgerEvent[],
  account: TestAccount,
  events: readonly ProjectedEvent[],
  lateMs = 0,
): LedgerEvent[] {
  const revision = before.filter(({ stream }) => stream === account.stream).length;
  const recorded = events.map((event, index): LedgerEvent => {
    const number = before.length + index;
    return ledgerEventOf(account, event, {
      eventId: `event-${number}`,
      revision: BigInt(revision + index),
      position: String(number).padStart(10, '0'),
      recordedAt: event.at + lateMs,
    });
  });
  return [...before, ...recorded];
}
