import { AccountQueries } from '../../../projections/accounts/queries.js';
import { ActivityQueries } from '../../../projections/activity/queries.js';
import type { ActivityRow } from '../../../projections/activity/table.js';
import { CurrencyQueries } from '../../../projections/rewards/currency-queries.js';
import { moneyText } from '../../domain/money.js';
import { modeOf } from '../../domain/scope.js';
import { formatOf, type UnitFormat } from '../../domain/tenant/unit-settings.js';
import type { Core } from '../../stores/core.js';
import { plainAmount, type AmountText } from '../accounts/words-of-rewards.js';
import { personNamed } from '../audit.js';
import { readFrom } from '../rebuilt-read-models.js';
import { activityInWords, channelInWords } from './activity-in-words.js';
import { kindOf, operationsOf, USUAL_KINDS, type ActivityKind } from './activity-kinds.js';

/** What Activity selects; empty or undefined members select nothing. */
export interface AskedActivity {
  readonly tenant?: string | undefined;
  readonly operator?: string | undefined;
  /** Default: all but accesses to personal data. */
  readonly kinds?: readonly ActivityKind[] | undefined;
  /** Epoch milliseconds, inclusive. */
  readonly from?: number | undefined;
  readonly to?: number | undefined;
  readonly limit: number;
  readonly offset: number;
}

/** What an operation was done to, for a link. */
export interface ActivityObject {
  readonly kind: 'account' | 'referral' | 'proposal' | 'delivery' | 'mail' | 'export';
  readonly id: string;
}

export type ShownActivity = ReturnType<typeof shown>;

/** The recorded operations and sessions, newest first; a large total is about right. */
export async function listActivity(
  core: Pick<Core, 'pool' | 'tenants'>,
  { tenant, operator, kinds = USUAL_KINDS, from, to, limit, offset }: AskedActivity,
) {
  const by = operator === undefined ? undefined : personNamed(operator);
  const filter = { tenant, by, from, to, ...operationsOf(kinds) };
  const found = await readFrom(core, 'activity', ActivityQueries, (queries) =>
    queries.page(filter, { limit, offset }),
  );
  const { totalCount: total, items } = found;
  const accounts = await accountsOf(core, items);
  const formats = new Map<string, readonly UnitFormat[]>();
  for (const alias of new Set(items.map((row) => row.tenant)))
    formats.set(alias, (await core.tenants.find(alias))?.units.formats ?? []);
  return { total, rows: items.map((row) => shown(row, accounts, formats.get(row.tenant) ?? [])) };
}

interface NamedAccount {
  readonly accountId: string;
  /** Of its amounts in CENTS. */
  readonly currency: string;
}

/** The accounts that rows name, by the keyed hash. */
async function accountsOf(
  core: Pick<Core, 'pool'>,
  rows: readonly ActivityRow[],
): Promise<ReadonlyMap<string, NamedAccount>> {
  const named = new Map(
    rows.flatMap(({ tenant, mode, parameters: { account } }) =>
      account === undefined ? [] : [[account, { tenant, mode }] as const],
    ),
  );
  if (named.size === 0) return new Map();
  const found = await readFrom(core, 'accounts', AccountQueries, (queries) =>
    Promise.all(
      [...named].map(async ([ref, scope]) => [ref, await queries.byRef(scope, ref)] as const),
    ),
  );
  const ofCredit = await readFrom(core, 'rewards', CurrencyQueries, (queries) =>
    queries.ofCents([...named.keys()]),
  );
  return new Map(
    found.flatMap(([ref, account]) => {
      if (!account?.accountId) return [];
      const { accountId, currency } = account;
      return [[ref, { accountId, currency: ofCredit.get(ref) ?? currency }] as const];
    }),
  );
}

function shown(
  row: ActivityRow,
  accounts: ReadonlyMap<string, NamedAccount>,
  formats: readonly UnitFormat[],
) {
  const { operation, parameters } = row;
  const currency = accounts.get(parameters['account'] ?? '')?.currency ?? null;
  const amountText: AmountText = (amount, unit) => {
    const format = unit === null ? undefined : formatOf(formats, unit, currency);
    return format === undefined ? plainAmount(amount, unit) : moneyText(format)(amount);
  };
  const kind = kindOf(operation);
  const isSession = kind === 'sessions';
  return {
    eventId: row.event_id,
    at: new Date(row.at).toISOString(),
    /** Null: erased. */
    operator: row.name,
    channel: channelInWords(row.channel),
    kind,
    sentence: activityInWords(operation, parameters, amountText),
    reason: row.reason,
    /** Null: none is recorded, or it is gone. */
    object: objectOf(row, accounts),
    /** Null: a session belongs to no tenant. */
    tenant: isSession ? null : row.tenant,
    mode: isSession ? null : modeOf(row.mode),
  };
}

function objectOf(
  { operation, parameters }: Pick<ActivityRow, 'operation' | 'parameters'>,
  accounts: ReadonlyMap<string, NamedAccount>,
): ActivityObject | null {
  const { account = '', referral, proposal, id } = parameters;
  const accountId = accounts.get(account)?.accountId;
  if (accountId !== undefined) return { kind: 'account', id: accountId };
  if (referral !== undefined) return { kind: 'referral', id: referral };
  if (proposal !== undefined) return { kind: 'proposal', id: proposal };
  const kind = KIND_OF_ID.get(operation.split(' ')[0] ?? '');
  return kind === undefined || id === undefined ? null : { kind, id };
}

const KIND_OF_ID: ReadonlyMap<string, ActivityObject['kind']> = new Map([
  ['webhook', 'delivery'],
  ['mail', 'mail'],
  ['export', 'export'],
]);
