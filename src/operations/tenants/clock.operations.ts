import * as z from 'zod';
import { auditedOn } from '../audited.js';
import { anyDuration, given, help, testMode, time } from '../registry/members.js';
import {
  get,
  ledgerOperation,
  type Operation,
  post,
  recordedOperation,
} from '../registry/operation.js';
import { tenantNamed } from './tenant-operation.js';
import { changeClock, clockDocument, type ClockChange } from './test-clock.js';

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
