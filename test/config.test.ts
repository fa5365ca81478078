import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { ConfigError, VARIABLES, loadConfig, publicUrlAt } from '../src/config/config.js';

function problemsOf(environment: Record<string, string>): readonly string[] {
  try {
    loadConfig(environment);
  } catch (error) {
    if (error instanceof ConfigError) return error.problems;
    throw error;
  }
  return [];
}

test('no variable is required', () => {
  expect(loadConfig({})).toEqual({
    dataDir: resolve('.data'),
    exportsStoredBytesMax: 20_480 * 1024 * 1024,
    host: '127.0.0.1',
    port: 3000,
    operationsPort: undefined,
    databaseUrl: undefined,
    masterKeyFile: resolve('.data/master.key'),
    operatorsFile: { path: resolve('.data/operators.json'), mayBeMissing: true },
    publicUrl: undefined,
    roles: new Set(['api', 'projector', 'worker']),
    logLevel: 'info',
    logAddresses: 'short',
    webhookAllowCidrs: [],
    trustedProxies: [],
    databaseConnectionsMax: 40,
    statementTimeoutMs: 10_000,
    rememberedStreamsMb: 512,
    requestsInFlightMax: 1000,
    connectionsMax: 4096,
    connectionsPerAddressMax: 256,
    failedCredentialsPerMinute: 300,
    positionWaitMs: 5_000,
    ownWritesWaitMs: 2_000,
    shutdownGraceMs: 10_000,
  });
});

test('an empty variable counts as unset', () => {
  expect(loadConfig({ PORT: '', DATABASE_URL: ' ', EVENT_STORE_URL: '', ROLES: '' })).toEqual(
    loadConfig({}),
  );
});

test('every variable has its effect', () => {
  const config = loadConfig({
    DATA_DIR: '/srv/ledger',
    HOST: '::',
    PORT: '0',
    DATABASE_URL: 'postgres://ledger:secret@db.internal:5433/ledger',
    MASTER_KEY_FILE: '/run/keys/master',
    PUBLIC_URL: 'https://refer.example.com/base/',
    ROLES: 'worker, api',
    LOG_LEVEL: 'warn',
    WEBHOOK_ALLOW_CIDRS: '10.0.0.0/8, 127.0.0.1,fd00::/8',
    TRUSTED_PROXIES: '192.0.2.1',
    REQUESTS_IN_FLIGHT_MAX: '7',
    CONNECTIONS_MAX: '500',
    CONNECTIONS_PER_ADDRESS_MAX: '20',
    FAILED_CREDENTIALS_PER_MINUTE: '30',
  });
  expect(config).toMatchObject({
    dataDir: '/srv/ledger',
    host: '::',
    port: 0,
    databaseUrl: 'postgres://ledger:secret@db.internal:5433/ledger',
    masterKeyFile: '/run/keys/master',
    publicUrl: 'https://refer.example.com/base',
    roles: new Set(['api', 'worker']),
    logLevel: 'warn',
    requestsInFlightMax: 7,
    connectionsMax: 500,
    connectionsPerAddressMax: 20,
    failedCredentialsPerMinute: 30,
  });
  expect(config.webhookAllowCidrs).toEqual([
    { address: '10.0.0.0', prefix: 8, family: 'ipv4' },
    { address: '127.0.0.1', prefix: 32, family: 'ipv4' },
    { address: 'fd00::', prefix: 8, family: 'ipv6' },
  ]);
  expect(config.trustedProxies).toEqual([{ address: '192.0.2.1', prefix: 32, family: 'ipv4' }]);
});

test.each([
  [{ PORT: '65536' }, 'PORT must be a whole number from 0 to 65535'],
  [{ PORT: '3e3' }, 'PORT must be a whole number from 0 to 65535'],
  [{ OPERATIONS_PORT: '70000' }, 'OPERATIONS_PORT must be a whole number from 0 to 65535'],
  [{ PORT: '4000', OPERATIONS_PORT: '4000' }, 'OPERATIONS_PORT must be another port than PORT'],
  [{ LOG_ADDRESSES: 'all' }, 'LOG_ADDRESSES must be one of short, full, none'],
  [{ HOST: 'two words' }, 'HOST must be an address or a host name'],
  [
    { PUBLIC_URL: 'refer.example.com' },
    'PUBLIC_URL must be an absolute http or https address without query or fragment',
  ],
  [{ ROLES: 'api,cook' }, 'ROLES must be a comma list of api, projector, worker'],
  [{ ROLES: ',' }, 'ROLES must be a comma list of api, projector, worker'],
  [
    { LOG_LEVEL: 'loud' },
    'LOG_LEVEL must be one of fatal, error, warn, info, debug, trace, silent',
  ],
  [
    { WEBHOOK_ALLOW_CIDRS: '10.0.0.0/33' },
    'WEBHOOK_ALLOW_CIDRS must be a comma list of addresses or ranges such as 10.0.0.0/8 or fd00::/8',
  ],
  [
    { EVENT_STORE_URL: 'http://store:2113' },
    expect.stringMatching(/^EVENT_STORE_URL must be an EventStoreDB address: esdb:/) as string,
  ],
  [
    { EVENT_STORE_URL: 'esdb://store:2113?colour=blue' },
    expect.stringMatching(
      /^EVENT_STORE_URL has an unknown option colour; known are tls, /,
    ) as string,
  ],
  [
    { EVENT_STORE_NAMESPACE: 'a b' },
    'EVENT_STORE_NAMESPACE must be up to 60 letters, digits, dots, dashes and underscores',
  ],
])('%j is one clear line', (environment, line) => {
  expect(problemsOf(environment)).toEqual([line]);
});

test('all bad variables are named together, and no value is shown', () => {
  const problems = problemsOf({
    PORT: 'x',
    LOG_LEVEL: 'y',
    DATABASE_URL: 'mysql://root:hunter2@db/ledger',
  });
  expect(problems.map((line) => line.split(' ')[0]).sort()).toEqual([
    'DATABASE_URL',
    'LOG_LEVEL',
    'MASTER_KEY_FILE',
    'PORT',
  ]);
  expect(problems.join('\n')).not.toContain('hunter2');
});

test('an own database needs an own master key', () => {
  expect(problemsOf({ DATABASE_URL: 'postgresql://db/ledger' })).toEqual([
    expect.stringMatching(/^MASTER_KEY_FILE is required with DATABASE_URL/),
  ]);
});

test.each([
  [{ HOST: '127.0.0.1' }, 'http://127.0.0.1:8080'],
  [{ HOST: '0.0.0.0' }, 'http://127.0.0.1:8080'],
  [{ HOST: '::1' }, 'http://[::1]:8080'],
  [{ HOST: '::1', PUBLIC_URL: 'https://refer.example.com' }, 'https://refer.example.com'],
])('the public address of %j', (environment, url) => {
  expect(publicUrlAt(loadConfig(environment), 8080)).toBe(url);
});

test('docs/configuration.md describes the variables of the code, with their defaults', () => {
  const page = readFileSync(join(__dirname, '../docs/configuration.md'), 'utf8');
  const rows = [...page.matchAll(/^\| `([A-Z_]+)` +\| (.*?) +\| .*? +\|$/gm)];
  expect(rows.map(([, name]) => name)).toEqual(VARIABLES);
  for (const [, name = '', fallback = ''] of rows) {
    const [, value] = /^`([^`<:]+)`$/.exec(fallback) ?? [];
    if (value !== undefined) expect(loadConfig({ [name]: value })).toEqual(loadConfig({}));
  }
});
