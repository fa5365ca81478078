import type { OpenTenant } from '../../domain/tenant/tenant.decider.js';
import { timeNow } from '../../foundation/world.js';
import { ledgerTime } from '../../tenants/tenant-directory.js';
import type { Core } from '../../stores/core.js';
import type { StaffMeta } from '../audit.js';
import type { Done } from '../audited.js';
import { anyTimeOf } from '../ledger/ledger-selection.js';
import { decided } from '../outcome.js';
import { durationMs } from '../../foundation/duration.js';
import { forgetTestData } from './forget-test-data.js';

/** The time of a tenant's test clock, ISO 8601; null: it has none. */
export const testClockOf = (tenant: OpenTenant): string | null =>
  tenant.testOffsetMs === null ? null : new Date(ledgerTime(tenant, 'test')).toISOString();

export const clockDocument = (tenant: OpenTenant) => ({ testClock: testClockOf(tenant) });

/** One member is given. */
export interface ClockChange {
  /** A duration, `30d`. */
  readonly advance?: string | undefined;
  /** A time, ISO 8601. */
  readonly set?: string | undefined;
  /** Ends the test clock, and removes the test data. */
  readonly resetWithData?: boolean | undefined;
}

/** Moves the test clock of a tenant forward, or ends it with the test data. */
export async function changeClock(
  core: Pick<Core, 'tenantCommands' | 'pool'>,
  meta: StaffMeta,
  { advance, set, resetWithData }: ClockChange,
): Promise<Done<ReturnType<typeof clockDocument>>> {
  const { tenantCommands } = core;
  if (resetWithData) return removeTestData(core, meta);
  const to =
    set === undefined
      ? { byMs: durationMs(advance ?? '0', Infinity) ?? 0 }
      : { time: anyTimeOf('set', set) };
  const command = { type: 'MoveTestClock', to, now: timeNow() } as const;
  const { tenant: alias } = meta.scope;
  const changed = decided(await tenantCommands.by(meta.actor).execute(alias, command));
  const result = clockDocument(changed);
  const completed = `the test clock of ${alias} is moved`;
  return { result, parameters: { advance, set }, completed };
}

async function removeTestData(
  { tenantCommands, pool }: Pick<Core, 'tenantCommands' | 'pool'>,
  meta: StaffMeta,
): Promise<Done<ReturnType<typeof clockDocument>>> {
  const { tenant: alias } = meta.scope;
  const command = { type: 'RemoveTestData', now: timeNow() } as const;
  const changed = decided(await tenantCommands.by(meta.actor).execute(alias, command));
  // A policy repeats it: what cannot be removed now is removed within moments.
  const { since, number: ledger } = changed.testLedger;
  await forgetTestData(pool, alias, { since, ledger }).catch(() => undefined);
  const completed = `the test data of ${alias} are removed`;
  return { result: clockDocument(changed), parameters: { resetWithData: true }, completed };
}
