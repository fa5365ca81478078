import type { Scope } from '../domain/scope.js';
import { clockOffset } from '../domain/tenant/test-clock.js';
import type { TenantDirectory } from '../tenants/tenant-directory.js';
import type { WorkPayload } from '../work-queue/work-items.js';
import type { Reaction } from './policy.js';

export interface LedgerDatesParts {
  readonly tenants: Pick<TenantDirectory, 'readFresh'>;
  /** Moves the work at dates of a tenant's test mode by the offset of its test clock. */
  readonly move: (tenant: string, offsetMs: number) => Promise<void>;
}

/**
 * Work that is due at a date of a ledger. The work queue uses the real clock: in test mode the date
 * comes earlier by the offset of the test clock, and earlier again with each move of it.
 */
export class LedgerDates {
  constructor(private readonly parts: LedgerDatesParts) {}

  /** @param plan takes the reaction with the real time of its date. May be repeated. */
  async plan<R extends Reaction>(
    scope: Scope,
    reaction: R,
    plan: (reaction: R) => Promise<void> | undefined,
  ): Promise<void> {
    const date = dateOf(reaction);
    if (scope.mode === 'live' || date === null) return plan(reaction);
    const offset = await this.offset(scope);
    await plan(atReal(reaction, date, offset));
    // A concurrent move may have missed this work.
    if ((await this.offset(scope)) !== offset) await this.moved(scope.tenant);
  }

  /** The test clock of a tenant was moved. May be repeated. */
  async moved(tenant: string): Promise<void> {
    await this.parts.move(tenant, await this.offset({ tenant, mode: 'test' }));
  }

  private async offset({ tenant: alias, mode }: Scope): Promise<number> {
    const tenant = await this.parts.tenants.readFresh(alias);
    return tenant === undefined ? 0 : clockOffset(tenant, mode);
  }
}

/** Null: the reaction waits for no date of the ledger. */
function dateOf(reaction: Reaction): number | null {
  if (reaction.kind === 'job') return reaction.task === 'settle-reward' ? reaction.runAt : null;
  return 'dueAt' in reaction ? reaction.dueAt : null;
}

function atReal<R extends Reaction>(reaction: R, date: number, offset: number): R {
  const at = date - offset;
  return reaction.kind === 'job'
    ? { ...reaction, runAt: at, payload: { ...reaction.payload, ...atDate(date) } }
    : { ...reaction, dueAt: at, ledgerDate: date };
}

/** The payload member with which `moveWork` finds the date, epoch milliseconds. */
export const atDate = (date: number): WorkPayload => ({ date: String(date) });
