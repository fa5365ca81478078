import type { Core } from '../../stores/core.js';
import type { OpenTenant } from '../../domain/tenant/tenant.decider.js';
import { tenantNotFound } from '../outcome.js';

/** The tenant of an alias, as the log has it. @throws {NotDone} */
export async function tenantNamed(
  { tenants }: Pick<Core, 'tenants'>,
  alias: string,
): Promise<OpenTenant> {
  const tenant = await tenants.read(alias);
  if (tenant === undefined) throw tenantNotFound(alias);
  return tenant;
}
