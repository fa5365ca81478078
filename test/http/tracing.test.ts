// Over 5 s: a service of its own, and spans of jobs that are waited for.
import { INVALID_SPANID } from '@opentelemetry/api';
import { requestsTraces, startTracing } from '../../src/process/start-tracing.js';
import { basic } from '../support/api-client.js';
import { RecordedSpans, type RecordedSpan } from '../support/recorded-spans.js';
import { personal, useService, useTenant } from '../support/running-service.js';
import { JOBS } from '../../src/work-queue/jobs.js';
import { wakeWork } from '../../src/work-queue/work-items.js';

const TRACE = '0af7651916cd43dd8448eb211c80319c';
const SPAN = 'b7ad6b7169203331';

let spans: RecordedSpans;
const { service: running } = useService();
const tenant = useTenant({ service: running });

beforeAll(async () => {
  spans = new RecordedSpans();
});
afterAll(async () => {
  spans.end();
});

/** Spans end after their answers were sent. */
async function spanOf(find: () => RecordedSpan | undefined): Promise<RecordedSpan> {
  for (;;) {
    const found = find();
    if (found !== undefined) return found;
    await new Promise((resolve) => setImmediate(resolve));
  }
}

const ROUTE = '/api/v1/:tenantAlias/open/account/:accountId/user/:userId';

it('a write is a span of the caller’s trace, with its command below it', async () => {
  const id = personal('ann@');
  const answer = await fetch(
    `${running.origin}/api/v1/${tenant.alias}/open/account/${id}/user/${id}?secret=${id}`,
    {
      method: 'PUT',
      headers: {
        authorization: basic(`:${tenant.liveKey}`),
        'content-type': 'application/json',
        traceparent: `00-${TRACE}-${SPAN}-01`,
      },
      body: JSON.stringify({ id, accountId: id, firstName: id }),
    },
  );
  expect(answer.status).toBe(200);
  const request = await spanOf(() => spans.named('PUT ')[0]);
  expect(request).toMatchObject({
    name: `PUT ${ROUTE}`,
    traceId: TRACE,
    parentId: SPAN,
    status: undefined,
    attributes: {
      'http.request.method': 'PUT',
      'http.route': ROUTE,
      'http.response.status_code': 200,
      'ledger.tenant': tenant.alias,
      'ledger.mode': 'live',
      'ledger.actor': 'api-key',
      'ledger.request_id': expect.stringMatching(/^[0-9a-f-]{36}$/) as unknown,
    },
  });
  const inTrace = spans.ended.filter(({ traceId }) => traceId === TRACE);
  const command = inTrace.filter(({ name }) => name === 'command UpsertUser').at(-1);
  expect(command).toMatchObject({
    parentId: request.spanId,
    attributes: { 'ledger.tenant': tenant.alias, 'ledger.mode': 'live' },
  });
  expect(command?.attributes['ledger.events']).toBeGreaterThan(0);
  // The line of the request names the same trace.
  const line = running.logText.split('\n').find((text) => text.includes(TRACE));
  expect(line).toContain(ROUTE);
});

it('without a caller’s trace a request begins one, which its log line names', async () => {
  await fetch(`${running.origin}/health/live`);
  const span = await spanOf(() => spans.named('GET /health/live')[0]);
  expect(span.parentId).toBe(INVALID_SPANID);
  expect(running.logText).toContain(`"traceId":"${span.traceId}"`);
});

it('a refused request is no failure, and has its code', async () => {
  const path = `/api/v1/${tenant.alias}/account/${personal()}`;
  await fetch(running.origin + path, { headers: { authorization: basic(`:${tenant.liveKey}`) } });
  const refused = await spanOf(() => spans.named('GET /api/v1/:tenantAlias/account/')[0]);
  expect(refused).toMatchObject({
    status: undefined,
    attributes: { 'ledger.error_code': 'ACCOUNT_NOT_FOUND', 'http.response.status_code': 404 },
  });
  await fetch(`${running.origin}/api/v1/${tenant.alias}/account/%zz`);
  expect(await spanOf(() => spans.named('GET unmatched')[0])).toMatchObject({
    attributes: { 'ledger.error_code': 'BAD_REQUEST' },
  });
});

it('read models and jobs work in spans of their own', async () => {
  const projected = await spanOf(() => spans.named('project users')[0]);
  expect(projected).toMatchObject({
    parentId: INVALID_SPANID,
    attributes: {
      'ledger.projection': 'users',
      'ledger.generation': expect.any(Number) as unknown,
    },
  });
  const { pool } = running.service.core;
  await wakeWork(pool, { kind: JOBS, id: 'purge-idempotency-keys' });
  expect(await spanOf(() => spans.named('job purge-idempotency-keys')[0])).toMatchObject({
    parentId: INVALID_SPANID,
    attributes: { 'ledger.task': 'purge-idempotency-keys', 'ledger.attempt': 1 },
  });
});

it('no span holds anything of a client', () => {
  expect(spans.ended.length).toBeGreaterThan(5);
  expect(JSON.stringify(spans.ended)).not.toMatch(/qzx|secret|%zz/i);
});

describe('the library of OpenTelemetry', () => {
  const logger = () => {
    const lines: string[] = [];
    const write = (_: object, line: string): void => void lines.push(line);
    return { lines, info: write, warn: write, error: write };
  };

  it.each<[Readonly<Record<string, string>>, boolean]>([
    [{}, false],
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector:4318' }, true],
    [{ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'http://collector:4318/v1/traces' }, true],
    [{ OTEL_TRACES_EXPORTER: 'console' }, true],
    [{ OTEL_TRACES_EXPORTER: 'none', OTEL_EXPORTER_OTLP_ENDPOINT: 'http://c:4318' }, false],
    [{ OTEL_SDK_DISABLED: 'true', OTEL_TRACES_EXPORTER: 'otlp' }, false],
    [{ OTEL_TRACES_EXPORTER: ' ', OTEL_SERVICE_NAME: 'ledger' }, false],
  ])('is asked for by its own variables: %j', (environment, asked) => {
    expect(requestsTraces(environment)).toBe(asked);
  });

  it('is not loaded where one is at work', async () => {
    const started = await startTracing(
      { logger: logger(), environment: { OTEL_TRACES_EXPORTER: 'console' } },
      () => Promise.reject(new Error('must not be loaded')),
    );
    expect(started.part).toBe(false);
  });

  describe('where none is at work', () => {
    beforeAll(() => spans.end());
    const environment = { OTEL_TRACES_EXPORTER: 'console', OTEL_SERVICE_NAME: 'mine' };

    it.each([true, false])(
      'is started with the name of the service, and flushed at the end (it takes part: %p)',
      async (registers) => {
        const calls: unknown[] = [];
        class NodeSDK {
          constructor(options: unknown) {
            calls.push(options);
          }
          start(): void {
            calls.push('start');
            if (registers) spans = new RecordedSpans();
          }
          async shutdown(): Promise<void> {
            calls.push('shutdown');
            throw new Error('the collector is away');
          }
        }
        const asked: string[] = [];
        const log = logger();
        const started = await startTracing({ logger: log, environment }, async (name) => {
          asked.push(name);
          return { NodeSDK };
        });
        expect(started.part).toBe(registers);
        await started.undo();
        spans.end();
        expect(log.lines).toEqual([
          registers ? 'traces are recorded' : 'no traces: the library does not fit this release',
        ]);
        expect(asked).toEqual(['@opentelemetry/sdk-node']);
        expect(calls).toEqual([{ serviceName: 'mine', instrumentations: [] }, 'start', 'shutdown']);
      },
    );

    it('may be missing: this is logged once, and the service starts', async () => {
      const log = logger();
      // As it is in this checkout.
      const started = await startTracing({ logger: log, environment });
      expect([started.part, log.lines]).toEqual([
        false,
        ['no traces: the library that they need is not installed'],
      ]);
    });
  });
});
