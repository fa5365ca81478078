import { eventsIf, type Decision } from '../decision.js';
import type { Command, Fact } from '../fact.js';

/** Recorded before the tenant is created: an alias may have no tenant. */
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

export type EnterAlias = Command<'EnterAlias', { alias: string }>;

export function decide(
  { aliases }: TenantRegisterState,
  { alias, now }: EnterAlias,
): Decision<TenantRegisterEvent> {
  return eventsIf(!aliases.includes(alias), { type: 'TenantAliasEntered', at: now, alias });
}
