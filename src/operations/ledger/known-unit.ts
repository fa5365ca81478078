import { unitKey } from '../../domain/account/account.state.js';
import { programsOf } from '../../domain/tenant/program-document.js';
import type { Scope } from '../../domain/scope.js';
import type { Core } from '../../stores/core.js';
import { NotDone, type Outcome } from '../outcome.js';
import { statementOfTenant } from './tenant-statement.js';

/**
 * Whether the tenant has seen the unit, in credit of the account or of any other one, or a program
 * of the tenant grants it: another unit is mostly a typing error.
 */
export async function isKnownUnit(
  core: Pick<Core, 'tenants' | 'streams' | 'names' | 'pool' | 'log' | 'codec'>,
  scope: Scope,
  { account, unit }: { readonly account: string; readonly unit: string },
): Promise<Outcome<boolean>> {
  const key = unitKey(unit);
  const tenant = await core.tenants.find(scope.tenant);
  const granted = (tenant === undefined ? [] : programsOf(tenant)).flatMap(
    ({ referredReward, referrerReward, eventRewards }) =>
      [referredReward, referrerReward, ...eventRewards.map(({ terms }) => terms)].map(
        (rewarded) => rewarded?.value,
      ),
  );
  const ref = core.names.accountRef(scope, account);
  const { state } = await core.streams.accounts.load(core.names.accountStream(scope, ref));
  const held =
    state.status === 'absent' ? [] : [...state.rewards.values()].map(({ value }) => value);
  for (const value of [...granted, ...held])
    if (value !== undefined && 'unit' in value && unitKey(value.unit ?? '') === key) return true;
  const statement = await statementOfTenant(core, scope, { unit });
  if (!(statement instanceof NotDone))
    return statement.result.units.length > 0 || statement.result.tooLarge.length > 0;
  return statement.because.code === 'STATEMENT_TOO_LONG' ? true : statement;
}
