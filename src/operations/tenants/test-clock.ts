import type { OpenTenant } from '../../domain/tenant/tenant.decider.js';
import { timeNow } from '../../foundation/world.js';
import { nowIn } from '../../tenants/tenant-directory.js';
import type { Core } from '../../stores/core.js';
import type { StaffMeta } from '../audit.js';
import type { Done } from '../audited.js';
import { anyTimeOf } from '../ledger/ledger-selection.js';
import { decided } from '../outcome.js';
import { msOf } from '../registry/members.js';

/** The time of a tenant's test clock, ISO 8601; null: it has none. */
export const testClockOf = (tenant: OpenTenant): string | null =>
  tenant.testOffsetMs === null ? null : new Date(nowIn(tenant, 'test')).toISOString();

export const clockDocument = (tenant: OpenTenant) => ({ testClock: testClockOf(tenant) });

/** One member is given. */
export interface ClockChange {
  /** A duration, `30d`. */
  readonly advance?: string | undefined;
  /** A time, ISO 8601. */
  readonly set?: string | undefined;
}

/** Moves the test clock of a tenant forward. */
export async function changeClock(
  { tenantCommands }: Pick<Core, 'tenantCommands'>,
  meta: StaffMeta,
  { advance, set }: ClockChange,
): Promise<Done<ReturnType<typeof clockDocument>>> {
  const to = set === undefined ? { byMs: msOf(advance ?? '0') } : { time: anyTimeOf('set', set) };
  const command = { type: 'MoveTestClock', to, now: timeNow() } as const;
  const { tenant: alias } = meta.scope;
  const changed = decided(await tenantCommands.by(meta.actor).execute(alias, command));
  const result = clockDocument(changed);
  const completed = `the test clock of ${alias} is moved`;
  return { result, parameters: { advance, set }, completed };
}
