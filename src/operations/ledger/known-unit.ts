import { unitKey } from '../../domain/account/account.state.js';
import { programsOf } from '../../domain/tenant/program-document.js';
import type { Scope } from '../../domain/scope.js';
import type { Core } from '../../stores/core.js';
import { NotDone } from '../outcome.js';
import { statementOfTenant } from './tenant-statement.js';

/**
 * Refuses a unit that the tenant has seen in no credit, of the account or of any other one, and
 * that no program of the tenant grants: it is mostly a typing error.
 */
export async function refusedUnit(
  core: Pick<Core, 'tenants' | 'streams' | 'names' | 'pool' | 'log' | 'codec'>,
  scope: Scope,
  { account, unit }: { readonly account: string; readonly unit: string },
): Promise<NotDone | undefined> {
  const tenant = await core.tenants.find(scope.tenant);
  const granted = (tenant === undefined ? [] : programsOf(tenant))
    .flatMap(({ referredReward, referrerReward, eventRewards }) => [
      referredReward,
      referrerReward,
      ...eventRewards.map(({ terms }) => terms),
    ])
    .map((terms) => terms?.value);
  const ref = core.names.accountRef(scope, account);
  const { state } = await core.streams.accounts.load(core.names.accountStream(scope, ref));
  const held =
    state.status === 'absent' ? [] : [...state.rewards.values()].map(({ value }) => value);
  for (const value of [...granted, ...held])
    if (value && 'unit' in value && unitKey(value.unit ?? '') === unitKey(unit)) return undefined;
  const statement = await statementOfTenant(core, scope, { unit });
  if (statement instanceof NotDone)
    return statement.because.code === 'STATEMENT_TOO_LONG' ? undefined : statement;
  const { units, tooLarge } = statement.result;
  return units.length + tooLarge.length > 0
    ? undefined
    : new NotDone({ code: 'UNIT_UNKNOWN', unit });
}
