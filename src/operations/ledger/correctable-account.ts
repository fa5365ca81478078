import { unitKey } from '../../domain/units.js';
import type { MoneyFormat } from '../../domain/money.js';
import { formatOf } from '../../domain/tenant/unit-settings.js';
import type { Scope } from '../../domain/scope.js';
import type { Core } from '../../stores/core.js';
import { unitsOfAccount } from './known-unit.js';

/** What a form offers for a correction of an account. */
export interface CorrectableAccount {
  /** By id; the name is empty where none is known. */
  readonly users: readonly { readonly id: string; readonly name: string }[];
  readonly units: readonly string[];
  /** Of a unit; undefined: its amounts are whole numbers. */
  readonly formatOf: (unit: string) => MoneyFormat | undefined;
}

/** The users that the form lists. */
const USERS_MAX = 200;

/** Undefined: there is no such account. */
export async function correctableAccount(
  core: Pick<Core, 'tenants' | 'streams' | 'names'>,
  scope: Scope,
  accountId: string,
): Promise<CorrectableAccount | undefined> {
  const stream = core.names.accountStream(scope, core.names.accountRef(scope, accountId));
  const { state } = await core.streams.accounts.load(stream);
  if (state.status === 'absent') return undefined;
  const users = [...state.users.values()].slice(0, USERS_MAX).flatMap(({ profile }) => {
    if (profile === null) return [];
    const name = [profile.firstName, profile.lastName].filter(Boolean).join(' ');
    return [{ id: profile.id, name }];
  });
  const formats = (await core.tenants.find(scope.tenant))?.units.formats ?? [];
  return {
    users,
    units: await unitsOfAccount(core, scope, accountId),
    formatOf: (unit) =>
      formatOf(formats, unit, state.currencies.get(unitKey(unit)) ?? state.currency),
  };
}
