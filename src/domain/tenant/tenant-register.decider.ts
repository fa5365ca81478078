import type { Decision } from '../decision.js';

/**
 * The list of tenants, a stream of its own. An alias is recorded before its tenant is created: the
 * list may contain one without a tenant.
 */
export type TenantRegisterEvent = {
  readonly type: 'TenantAliasEntered';
  readonly at: number;
  readonly alias: string;
};

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

export interface EnterAlias {
  readonly type: 'EnterAlias';
  readonly alias: string;
  readonly now: number;
}

export function decide(
  { aliases }: TenantRegisterState,
  { alias, now }: EnterAlias,
): Decision<TenantRegisterEvent> {
  return {
    events: aliases.includes(alias) ? [] : [{ type: 'TenantAliasEntered', at: now, alias }],
  };
}
