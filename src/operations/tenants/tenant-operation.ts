import type { Core } from '../../stores/core.js';
import type { OpenTenant } from '../../domain/tenant/tenant.decider.js';
import { NotDone, type Outcome } from '../outcome.js';

/** The tenant of an alias, as the log has it. */
export const tenantNamed = async (
  { tenants }: Pick<Core, 'tenants'>,
  alias: string,
): Promise<Outcome<OpenTenant>> =>
  (await tenants.read(alias)) ?? new NotDone({ code: 'TENANT_NOT_FOUND', tenant: alias });
