import { only, type Decision } from '../decision.js';
import type { Ask, Fact } from '../fact.js';

/**
 * The list of tenants, a stream of its own. An alias is recorded before its tenant is created: the
 * list may contain one without a tenant.
 */
export type TenantRegisterEvent = Fact<'TenantAliasEntered', { alias: string }>;

export interface TenantRegisterState {
  /** In order of creation. */
  readonly aliases: readonly string[];
}

export const initialState: TenantRegisterState = { aliases: [] };

export function evolve(
  { aliases }: TenantRegisterState,
  { alias }: TenantRegisterEvent,
): TenantRegisterState {
  return { aliases: [...aliases, alias] };
}

export type EnterAlias = Ask<'EnterAlias', { alias: string }>;

export function decide(
  { aliases }: TenantRegisterState,
  { alias, now }: EnterAlias,
): Decision<TenantRegisterEvent> {
  return only(!aliases.includes(alias), { type: 'TenantAliasEntered', at: now, alias });
}
