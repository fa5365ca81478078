import { unitKey } from '../../domain/account/account.state.js';
import { programsOf } from '../../domain/tenant/program-document.js';
import type { Scope } from '../../domain/scope.js';
import type { Core } from '../../stores/core.js';
import { NotDone, notDoneAbout, quoted, outcomeOf } from '../outcome.js';
import { statementOfTenant } from './tenant-statement.js';

/**
 * Refuses a unit that the tenant has seen in no credit, of the account or of any other one, and
 * that no program of the tenant grants: it is mostly a typing error.
 */
export async function checkUnit(
  core: Pick<Core, 'tenants' | 'streams' | 'names' | 'pool' | 'log' | 'codec'>,
  scope: Scope,
  { account, unit }: { readonly account: string; readonly unit: string },
): Promise<void> {
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
    if (value && 'unit' in value && unitKey(value.unit ?? '') === unitKey(unit)) return;
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
