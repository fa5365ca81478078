import type { Core } from '../../stores/core.js';
import type { Scope } from '../../domain/scope.js';
import type { Actor, CommandMeta } from '../../event-log/envelope.js';
import { newId } from '../../foundation/world.js';
import { NotDone } from '../outcome.js';

/** What operations on a tenant have in common. */

/** Undefined: the tenant is there. */
export async function tenantMissing(
  { tenants }: Pick<Core, 'tenants'>,
  { tenant }: Scope,
): Promise<NotDone | undefined> {
  if ((await tenants.read(tenant)) !== undefined) return undefined;
  return new NotDone({ code: 'TENANT_NOT_FOUND', tenant });
}

/** Of a command without an idempotency key. @param cause the operation's name. */
export const metaOf = (scope: Scope, actor: Actor, cause: string): CommandMeta => ({
  scope,
  commandId: newId(),
  correlationId: newId(),
  causationId: cause,
  actor,
  idempotency: null,
});
