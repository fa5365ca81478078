import type { OpenTenant } from '../../domain/tenant/tenant.decider.js';
import { timeNow } from '../../foundation/world.js';
import { ledgerTime } from '../../tenants/tenant-directory.js';
import type { Core } from '../../stores/core.js';
import type { StaffMeta } from '../audit.js';
import { auditedOn, type Done } from '../audited.js';
import { anyTimeOf } from '../ledger/ledger-selection.js';
import { decided } from '../outcome.js';
import { durationMs } from '../../foundation/duration.js';
import { forgetTestData } from './forget-test-data.js';
import * as z from 'zod';
import { anyDuration, given, help, testMode, time } from '../registry/members.js';
import { ledgerOperation, type Operation, recordedOperation } from '../registry/operation.js';
import { get, post } from '../registry/routes.js';
import { tenantNamed } from './tenant-operation.js';

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
  // A policy repeats the removal within moments, so a failure here loses nothing.
  const { since, number: ledger } = changed.testLedger;
  await forgetTestData(pool, alias, { since, ledger }).catch(() => undefined);
  const completed = `the test data of ${alias} are removed`;
  return { result: clockDocument(changed), parameters: { resetWithData: true }, completed };
}

const CLOCK = {
  name: 'tenant clock',
  examples: [
    'tenant clock acme',
    'tenant clock acme --advance 30d',
    'tenant clock acme --reset-with-data',
  ],
} as const;
const advance = help(anyDuration.optional(), 'by so much, such as 30d');
const set = given(time.optional(), { help: 'to this time', placeholder: 'time' });

const ONE_CHANGE = 'name one of {advance}, {set} and {resetWithData}';

/** How many changes of the test clock a request names. */
const changesIn = (request: ClockChange): number =>
  [request.advance, request.set, request.resetWithData || undefined].filter(
    (change) => change !== undefined,
  ).length;

export const clockOperations: readonly Operation[] = [
  ledgerOperation({
    ...CLOCK,
    summary: 'the test clock of a tenant; with an option, moves it forward or ends it',
    members: {
      mode: testMode,
      advance: given(advance, { only: 'cli' }),
      set: given(set, { only: 'cli' }),
      resetWithData: given(z.boolean().default(false), {
        only: 'cli',
        help: 'end the test clock, and remove all test data',
      }),
    },
    rules: [{ check: (request) => (changesIn(request) > 1 ? ONE_CHANGE : undefined) }],
    roles: ['support'],
    isRecorded: true,
    route: get('tenants/{tenant}/clock'),
    run: async ({ core, by, warn, scope }, request) => {
      if (changesIn(request) === 0) return clockDocument(await tenantNamed(core, scope.tenant));
      const frame = { scope, by, operation: CLOCK.name, warn };
      return auditedOn(core, frame, (_, meta) => changeClock(core, meta, request));
    },
    said: ({ testClock }) => testClock ?? 'there is no test clock: test mode has the real time',
  }),
  recordedOperation({
    ...CLOCK,
    isRouteOnly: true,
    summary: 'moves the test clock of a tenant forward, or ends it with the test data',
    members: { mode: testMode, advance, set, resetWithData: z.literal(true).optional() },
    rules: [
      {
        check: (request) => (changesIn(request) === 1 ? undefined : ONE_CHANGE),
        schema: {
          oneOf: [
            { required: ['advance'] },
            { required: ['set'] },
            { required: ['resetWithData'] },
          ],
        },
      },
    ],
    roles: ['support'],
    route: post('tenants/{tenant}/clock'),
    record: ({ core, meta }, request) => changeClock(core, meta, request),
  }),
];
