import type { Scope } from '../../../domain/scope.js';
import { canonicalJson } from '../../../foundation/canonical-json.js';
import { accountOfId } from '../../../privacy/keyed-names.js';
import type { ReadModelTable } from '../../../projecting/projector.js';
import {
  expectedAccount,
  expectedCodes,
  expectedReferrals,
  expectedUsers,
} from './expected-people.js';
import type { Difference } from './difference.js';
import { DAILY_FIGURES, expectedCredit } from './expected-days.js';
import { expectedBalances, expectedReferralRewards, expectedRewards } from './expected-rewards.js';
import type { ExpectedRow } from './expected-row.js';
import type { FoldedAccount, KnownEvent } from './folded-account.js';
import type { LiveRow } from './live-rows.js';

/**
 * An account of a batch, folded up to the position of each read model. Undefined: it cannot be
 * compared at that position.
 */
export interface AccountInBatch {
  readonly ref: string;
  readonly name: string;
  readonly persons: readonly string[];
  readonly events: readonly KnownEvent[];
  readonly foldedFor: (
    readModel: string,
  ) => { readonly folded: FoldedAccount; readonly events: readonly KnownEvent[] } | undefined;
}

const EXPECTATIONS: Readonly<
  Record<string, (folded: FoldedAccount, ref: string, scope: Scope) => ExpectedRow[]>
> = {
  accounts: expectedAccount,
  users: expectedUsers,
  'referral-codes': (folded, _ref, scope) => expectedCodes(folded, scope),
  referrals: (folded, ref) => [
    ...expectedReferrals(folded, ref),
    ...expectedReferralRewards(folded),
  ],
  rewards: expectedRewards,
  'reward-balances': expectedBalances,
  [DAILY_FIGURES]: expectedCredit,
};

/** Every difference between the folded accounts and the rows that were found for them. */
export function compareBatch(
  accounts: readonly AccountInBatch[],
  live: readonly LiveRow[],
  scope: Scope,
): Difference[] {
  const unmatched = new Map(live.map((found) => [rowText(found.table, keyOf(found)), found]));
  const differences: Difference[] = [];
  for (const account of accounts) {
    for (const [readModel, expectationsOf] of Object.entries(EXPECTATIONS)) {
      const comparable = account.foldedFor(readModel);
      if (!comparable) continue;
      for (const expected of expectationsOf(comparable.folded, account.ref, scope)) {
        const text = rowText(expected.table, expected.key);
        const found = unmatched.get(text);
        unmatched.delete(text);
        differences.push(
          ...compareRow(
            { account: account.name, readModel, events: comparable.events },
            expected,
            found,
          ),
        );
      }
    }
  }
  return [...differences, ...surplus(accounts, [...unmatched.values()])];
}

interface ComparedAccount {
  readonly account: string;
  readonly readModel: string;
  readonly events: readonly KnownEvent[];
}

function compareRow(
  { account, readModel, events }: ComparedAccount,
  { table, key, values, mayBeMissing = false, isAbout }: ExpectedRow,
  found: LiveRow | undefined,
): Difference[] {
  const field = fieldOf(table, key);
  const eventIds = (): string[] =>
    events.filter(({ event }) => isAbout(event)).map(({ eventId }) => eventId);
  if (!found)
    return mayBeMissing
      ? []
      : [{ account, readModel, field, ledger: 'present', live: 'missing', eventIds: eventIds() }];
  return Object.entries(values)
    .filter(
      ([column, value]) =>
        value !== undefined && canonicalJson(value) !== canonicalJson(found.row[column]),
    )
    .map(([column, ledger]) => ({
      account,
      readModel,
      field: `${field}.${column}`,
      ledger,
      live: found.row[column] ?? null,
      eventIds: eventIds(),
    }));
}

/** Rows without an account in the batch. */
function surplus(accounts: readonly AccountInBatch[], rows: readonly LiveRow[]): Difference[] {
  const byRef = new Map(accounts.map((account) => [account.ref, account]));
  const byPerson = new Map(
    accounts.flatMap((account) => account.persons.map((person) => [person, account] as const)),
  );
  return rows.flatMap((found) => {
    const owner = byRef.get(refOf(found) ?? '') ?? byPerson.get(textOf(found.row['person']) ?? '');
    const comparable = owner?.foldedFor(found.readModel);
    // The other side's reward of a referral is another account's.
    if (!owner || !comparable || isUnreadable(comparable.folded, textOf(found.row['person'])))
      return [];
    const field = fieldOf(found.table, keyOf(found));
    const eventIds = comparable.events
      .filter(
        ({ event }) =>
          event.type === 'ErasureRequested' ||
          ('rewardId' in event && event.rewardId === found.row['reward_id']),
      )
      .map(({ eventId }) => eventId);
    return [
      {
        account: owner.name,
        readModel: found.readModel,
        field,
        ledger: 'missing',
        live: 'present',
        eventIds,
      },
    ];
  });
}

/** A person whose key is destroyed, while the read model has not applied the erasure yet. */
const isUnreadable = ({ state }: FoldedAccount, person: string | undefined): boolean =>
  state.status === 'open' && person !== undefined && state.users.get(person)?.profile === null;

function refOf({ row }: LiveRow): string | undefined {
  const named = textOf(row['account_ref']) ?? textOf(row['referred_account_ref']);
  return named ?? accountOfId(textOf(row['reward_id']) ?? '');
}

const textOf = (value: unknown): string | undefined =>
  typeof value === 'string' ? value : undefined;

const keyOf = ({ table, row }: LiveRow): string[] =>
  table.primaryKey.map((column) => String(row[column]));

const fieldOf = (table: ReadModelTable, key: readonly string[]): string =>
  `${table.name}/${key.join('/')}`;

const rowText = (table: ReadModelTable, key: readonly string[]): string =>
  JSON.stringify([table.name, ...key]);
