import { PROJECTION_NAMES } from '../../src/process/start-followers.js';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { metricsIn, readAlerts, readDashboard } from '../support/monitoring-files.js';
import { eventually } from '../support/embedded.js';
import { parseMetrics, type Metrics } from '../support/metrics-text.js';
import { useService, personal } from '../support/running-service.js';

/* Over 5 s: a service of its own, whose followers all have to lead. */

const root = join(__dirname, '..', '..');
const FOLLOWERS = [...PROJECTION_NAMES, 'chain', 'policies', 'webhooks'].sort();

const { service: running } = useService(() => ({ DATABASE_CONNECTIONS_MAX: '23' }));

const scrape = async (): Promise<Metrics> => {
  const answer = await fetch(`${running.origin}/metrics`);
  expect(answer.status).toBe(200);
  return parseMetrics(await answer.text());
};

it('the metrics name the release and the Node.js that runs it', async () => {
  const [build] = (await scrape()).seriesOf('ledger_build_info');
  expect(build).toEqual({ labels: { version: '0.0.0', node: process.version }, value: 1 });
});

it('the metrics show the connections of each pool, and their share of DATABASE_CONNECTIONS_MAX', async () => {
  const metrics = await scrape();
  const max = metrics.seriesOf('ledger_pool_connections_max');
  expect(max.map(({ labels }) => labels['pool']).sort()).toEqual([
    'background',
    'jobs',
    'log-readers',
    'operations',
    'requests',
  ]);
  // Outside the pools: the log's writer and listener, and the keeper of an embedded server.
  expect(max.reduce((sum, { value }) => sum + value, 0)).toBe(23 - 3);
  // Leases and listeners hold connections for as long as the process runs.
  const used = metrics.value('ledger_pool_connections', { pool: 'background', state: 'used' });
  expect(used).toBeGreaterThanOrEqual(3);
  for (const { labels } of max)
    expect(metrics.value('ledger_pool_waiters', labels)).toBeGreaterThanOrEqual(0);
});

it('the metrics show callers that wait for a connection', async () => {
  const { pool } = running.service.core;
  const { max } = pool.options;
  const held = await Promise.all(Array.from({ length: max }, () => pool.connect()));
  const waiting = [pool.connect(), pool.connect()];
  try {
    const metrics = await scrape();
    // The service itself may wait, too.
    expect(metrics.value('ledger_pool_waiters', { pool: 'requests' })).toBeGreaterThanOrEqual(2);
    expect(metrics.value('ledger_pool_connections', { pool: 'requests', state: 'used' })).toBe(max);
    expect(metrics.value('ledger_pool_connections', { pool: 'requests', state: 'idle' })).toBe(0);
  } finally {
    for (const client of held) client.release();
    for (const client of await Promise.all(waiting)) client.release();
  }
});

it('the metrics name the followers that this process leads', async () => {
  const leads = async (): Promise<readonly string[]> =>
    (await scrape())
      .seriesOf('ledger_follower_leads')
      .flatMap(({ labels, value }) => (value === 1 ? [labels['follower'] ?? ''] : []))
      .sort();
  await eventually(async () => (await leads()).length >= FOLLOWERS.length);
  expect(await leads()).toEqual(FOLLOWERS);
});

it('the metrics show reads that wait for read models', async () => {
  await running.createTenant();
  const { policies, core } = running.service;
  const head = (await core.log.head()) ?? '';
  const leaving = new AbortController();
  const beyond = head.replace(/\d+$/, (digits) => String(Number(digits) + 1_000_000));
  const waits = [
    running.service.follower.waitFor(beyond, ['users'], 60_000, leaving.signal),
    policies.waitFor(beyond, 60_000, leaving.signal),
    policies.waitFor(beyond, 60_000, leaving.signal),
  ];
  const metrics = await scrape();
  leaving.abort();
  await Promise.all(waits);
  expect(metrics.value('ledger_position_waiters', { on: 'projections' })).toBe(1);
  expect(metrics.value('ledger_position_waiters', { on: 'policies' })).toBe(2);
});

it('the metrics count the refusals of decisions, and kept ones again', async () => {
  const tenant = await running.createTenant();
  const refused = async () =>
    (await scrape()).value('http_refusals_total', { code: 'USER_EXISTS' });
  const before = (await refused()) ?? NaN;
  const id = personal();
  const path = `/open/account/${id}/user/${id}`;
  expect((await tenant.live.post(path, { id, accountId: id })).status).toBe(201);
  for (const _ of ['decided', 'kept'])
    expect((await tenant.live.post(path, { id, accountId: id }, { key: 'again' })).status).toBe(
      400,
    );
  await eventually(async () => (await refused()) !== before + 1);
  expect(await refused()).toBe(before + 2);
  const lines = running.logText.split('\n').filter((line) => line.includes('USER_EXISTS'));
  expect(lines.length).toBe(2);
});

describe('docker/monitoring', () => {
  let metrics: Metrics;
  beforeAll(async () => {
    metrics = await scrape();
  });

  const expressions = (): readonly (readonly [string, string])[] => [
    ...readAlerts().map(({ alert, expr }) => [alert, expr] as const),
    ...readDashboard().flatMap(({ title, targets }) =>
      targets.map(({ expr }) => [title, expr] as const),
    ),
  ];

  it('uses metrics that the service shows', () => {
    const unknown = expressions().flatMap(([where, expr]) =>
      metricsIn(expr).flatMap((name) => (metrics.names.has(name) ? [] : [`${where}: ${name}`])),
    );
    expect(unknown).toEqual([]);
    expect(expressions().filter(([, expr]) => metricsIn(expr).length === 0)).toEqual([]);
  });

  it('names for each alert how urgent it is, and a runbook that exists', () => {
    const alerts = readAlerts();
    expect(new Set(alerts.map(({ alert }) => alert)).size).toBe(alerts.length);
    for (const { alert, labels, annotations } of alerts)
      expect([alert, labels.severity, existsSync(join(root, annotations.runbook))]).toEqual([
        alert,
        expect.stringMatching(/^(page|ticket)$/),
        true,
      ]);
  });
});
