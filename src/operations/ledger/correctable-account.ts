import { unitKey } from '../../domain/units.js';
import { formatOf } from '../../domain/tenant/unit-settings.js';
import type { Scope } from '../../domain/scope.js';
import type { Core } from '../../stores/core.js';
import { unitsOfAccount } from './known-unit.js';

export type CorrectableAccount = NonNullable<Awaited<ReturnType<typeof correctableAccount>>>;

/** The users that the form lists. */
const USERS_MAX = 200;

/** What a form offers for a correction of an account; undefined: there is no such account. */
export async function correctableAccount(
  core: Pick<Core, 'tenants' | 'streams' | 'names'>,
  scope: Scope,
  accountId: string,
) {
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
    /** By id; the name is empty where none is known. */
    users,
    units: await unitsOfAccount(core, scope, accountId),
    /** Undefined: amounts of the unit are whole numbers. */
    formatOf: (unit: string) =>
      formatOf(formats, unit, state.currencies.get(unitKey(unit)) ?? state.currency),
  };
}
