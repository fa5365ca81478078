import { unitKey } from '../../domain/account/account.state.js';
import { programsOf } from '../../domain/tenant/program-document.js';
import type { Scope } from '../../domain/scope.js';
import type { Core } from '../../stores/core.js';
import { NotDone, notDoneAbout, quoted, outcomeOf } from '../outcome.js';
import { statementOfTenant } from './tenant-statement.js';

type UnitCore = Pick<Core, 'tenants' | 'streams' | 'names'>;

/** The units of an account's credit and of what programs grant, in the first spelling of each. */
export async function unitsOfAccount(
  core: UnitCore,
  scope: Scope,
  accountId: string,
): Promise<readonly string[]> {
  const tenant = await core.tenants.find(scope.tenant);
  const granted = (tenant === undefined ? [] : programsOf(tenant))
    .flatMap(({ referredReward, referrerReward, eventRewards }) => [
      referredReward,
      referrerReward,
      ...eventRewards.map(({ terms }) => terms),
    ])
    .map((terms) => terms?.value);
  const ref = core.names.accountRef(scope, accountId);
  const { state } = await core.streams.accounts.load(core.names.accountStream(scope, ref));
  const held =
    state.status === 'absent' ? [] : [...state.rewards.values()].map(({ value }) => value);
  const units = new Map<string, string>();
  for (const value of [...held, ...granted])
    if (value?.type === 'CREDIT' && !units.has(unitKey(value.unit)))
      units.set(unitKey(value.unit), value.unit);
  return [...units.values()].sort();
}

/**
 * Refuses a unit that the tenant has seen in no credit, of the account or of any other one, and
 * that no program of the tenant grants: it is mostly a typing error.
 */
export async function checkUnit(
  core: UnitCore & Pick<Core, 'pool' | 'log' | 'codec'>,
  scope: Scope,
  { account, unit }: { readonly account: string; readonly unit: string },
): Promise<void> {
  const known = await unitsOfAccount(core, scope, account);
  if (known.some((one) => unitKey(one) === unitKey(unit))) return;
  const statement = await outcomeOf(() => statementOfTenant(core, scope, { unit }));
  if (statement instanceof NotDone) {
    if (statement.code === 'STATEMENT_TOO_LONG') return;
    throw statement;
  }
  const { units, tooLarge } = statement.result;
  if (units.length + tooLarge.length === 0)
    throw notDoneAbout(
      'unit',
      (word) => `the tenant has no unit ${quoted(unit)}: correct it, or add ${word('newUnit')}`,
    );
}
