import { errorBody } from '../support/error-body.js';
import { API, LIVE, useSampleApp } from './sample-app.js';

const it_ = useSampleApp();

test('a service is live from its start and ready when its parts are', async () => {
  const live = await fetch(`${it_.origin}/health/live`);
  expect([live.status, await live.json()]).toEqual([200, { status: 'live' }]);
  const { readiness } = it_.sample;
  it_.sample.readiness = {
    ready: false,
    checks: { postgres: { ok: true }, 'projection rewards': { ok: false, lagEvents: 12 } },
  };
  const notReady = await fetch(`${it_.origin}/health/ready`);
  expect([notReady.status, notReady.headers.get('retry-after'), await notReady.json()]).toEqual([
    503,
    '1',
    {
      ...errorBody(503, 'UNAVAILABLE'),
      status: 'not ready',
      ready: false,
      checks: { postgres: { ok: true }, 'projection rewards': { ok: false, lagEvents: 12 } },
    },
  ]);

  it_.sample.readiness = readiness;
  const ready = await fetch(`${it_.origin}/health/ready`);
  expect([ready.status, await ready.json()]).toEqual([
    200,
    { status: 'ready', ready: true, checks: { postgres: { ok: true } } },
  ]);
});

test('requests are counted by method, route pattern and status', async () => {
  await fetch(`${it_.origin}${API}/account/ann%40example.com`, { headers: LIVE });
  await fetch(`${it_.origin}/ann%40example.com`, { headers: LIVE });
  let text: string;
  do {
    const response = await fetch(`${it_.origin}/metrics`);
    expect(response.headers.get('content-type')).toMatch(/^text\/plain; version=0\.0\.4/);
    text = await response.text();
  } while (!text.includes('route="unmatched"'));
  expect(text).toMatch(
    /^http_request_duration_seconds_count\{method="GET",route="\/api\/v1\/:tenantAlias\/account\/:accountId",status="200"\} 1$/m,
  );
  expect(text).toMatch(
    /^http_request_duration_seconds_count\{method="GET",route="unmatched",status="404"\} 1$/m,
  );
  expect(text).toMatch(/^process_resident_memory_bytes \d/m);
  expect(text).not.toContain('ann');
});

test('concurrent requests of readiness share one check', async () => {
  const open = it_.sample.close();
  const checks = () => it_.sample.entered.filter((name) => name === 'check').length;
  const before = checks();
  const begun = it_.edge.inFlight;
  const asked = Array.from({ length: 5 }, () => fetch(`${it_.origin}/health/ready`));
  while (it_.edge.inFlight < begun + 5) await new Promise((resolve) => setImmediate(resolve));
  open();
  expect((await Promise.all(asked)).map(({ status }) => status)).toEqual(Array(5).fill(200));
  expect(checks()).toBe(before + 1);
  expect((await fetch(`${it_.origin}/health/ready`)).status).toBe(200);
  expect(checks()).toBe(before + 2);
});
