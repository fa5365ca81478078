import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { rootCertificates } from 'node:tls';
import { loadConfig, ROLES, SETTINGS, type Config } from '../../src/config/config.js';
import {
  environmentOf,
  readComposeFile,
  readDockerfile,
  type ComposeService,
} from '../support/container-files.js';

/**
 * No engine starts these files when the tests run: what they say is compared with what the code
 * reads, and with each other.
 */
const root = join(__dirname, '..', '..');
const image = readDockerfile().at(-1)!;
const imageEnvironment = environmentOf(image);

const readNginx = (name: string): string =>
  readFileSync(join(root, 'docker', 'nginx', name), 'utf8');
const LEDGER = 'referral-ledger:local';
const POSTGRES = 'postgres';
const EVENT_STORE = 'eventstore/eventstore';

/** Variables that are not the service's configuration, by who reads them, and what they are. */
const VARIABLES_OF_OTHERS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  [LEDGER]: {
    HOME: 'of every process; a library asks for it',
    DATABASE_PASSWORD_FILE:
      'docker/environment.mjs: the file with the password that goes into DATABASE_URL',
    EVENT_STORE_PASSWORD_FILE:
      'docker/environment.mjs: the file with the password that goes into EVENT_STORE_URL',
  },
  [POSTGRES]: {
    POSTGRES_PASSWORD: 'the password that docker/make-role.sql gives to the role',
    POSTGRES_PASSWORD_FILE: 'the file with that password',
  },
  [EVENT_STORE]: {
    EVENTSTORE_CLUSTER_SIZE: 'how many nodes make the cluster',
    EVENTSTORE_INSECURE: 'no TLS, no passwords',
    EVENTSTORE_ENABLE_ATOM_PUB_OVER_HTTP: 'what the web page shows streams with',
    EVENTSTORE_TELEMETRY_OPTOUT: 'sends nothing to its maker',
    EVENTSTORE_DISCOVER_VIA_DNS: 'false: the other nodes are listed',
    EVENTSTORE_GOSSIP_SEED: 'the other nodes',
    EVENTSTORE_NODE_HOST_ADVERTISE_AS: 'the name that clients are told',
    EVENTSTORE_REPLICATION_HOST_ADVERTISE_AS: 'the name that the other nodes are told',
    EVENTSTORE_CERTIFICATE_FILE: 'the certificate of the node',
    EVENTSTORE_CERTIFICATE_PRIVATE_KEY_FILE: 'its key',
    EVENTSTORE_TRUSTED_ROOT_CERTIFICATES_PATH: 'the folder with the authority of the other nodes',
  },
};

/** What the image of Postgres runs when it makes the database. */
const ROLE_FILE = 'make-role.sql';
const roleFile = readFileSync(join(root, 'docker', ROLE_FILE), 'utf8');

const PASSWORD = 'p@ss/w:o?r#d %';
let folder = '';

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'ledger-containers-'));
  writeFileSync(join(folder, 'password'), `${PASSWORD}\n`);
  writeFileSync(join(folder, 'ca.crt'), rootCertificates[0] ?? '');
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

const imageOf = ({ image: name }: ComposeService): string =>
  name === LEDGER ? name : name.replace(/:.*$/, '');
const isService = (service: ComposeService): boolean =>
  service.image === LEDGER && service.command === undefined;

/** The environment that the process in the container sees. */
function environmentIn(service: ComposeService): Record<string, string> {
  return service.image === LEDGER
    ? { ...imageEnvironment, ...service.environment }
    : service.environment;
}

/** What the service makes of it; files of the container are stood in for by files that are here. */
async function configOf(service: ComposeService): Promise<Config> {
  const environment: Record<string, string> = {};
  for (const [name, value] of Object.entries(environmentIn(service))) {
    if (name.endsWith('_PASSWORD_FILE')) environment[name] = join(folder, 'password');
    else
      environment[name] = value.replace(
        /(tlsCAFile=)[^&]+/,
        (_, option: string) => `${option}${join(folder, 'ca.crt')}`,
      );
  }
  const { addressesWithPasswords } = (await import(join(root, 'docker', 'environment.mjs'))) as {
    addressesWithPasswords: (
      environment: Readonly<Record<string, string>>,
    ) => Record<string, string>;
  };
  return loadConfig({ ...environment, ...addressesWithPasswords(environment) });
}

describe.each([['compose.yaml'], ['compose.cluster.yaml']])('docker/%s', (name) => {
  const { services } = readComposeFile(name);
  const all = Object.entries(services);
  const ledgers = all.filter(([, service]) => isService(service));
  const postgres = services.postgres!;

  it('sets only variables that exist', () => {
    const known = (service: ComposeService): string[] => [
      ...Object.keys(VARIABLES_OF_OTHERS[imageOf(service)] ?? {}),
      ...(service.image === LEDGER ? SETTINGS.map((setting) => setting.name) : []),
    ];
    const unknown = all.flatMap(([key, service]) =>
      Object.keys(environmentIn(service))
        .filter((variable) => !known(service).includes(variable))
        .map((variable) => `${key}: ${variable}`),
    );
    expect(unknown).toEqual([]);
  });

  it('configures the service with valid values', async () => {
    for (const [, service] of ledgers) {
      const config = await configOf(service);
      expect(config.masterKeyFile).toBe(environmentIn(service).MASTER_KEY_FILE);
      expect(config.publicUrl).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
      const { password, searchParams } = new URL(config.databaseUrl!);
      const inFile = service.environment.DATABASE_PASSWORD_FILE !== undefined;
      expect(decodeURIComponent(password)).toBe(
        inFile ? PASSWORD : postgres.environment.POSTGRES_PASSWORD,
      );
      expect([...searchParams]).toEqual([]);
    }
    expect(ledgers.length).toBeGreaterThan(0);
  });

  it('sends what comes from outside to the processes that answer, as their trusted proxy', async () => {
    const ingress = services.ingress!;
    const upstream = ingress.volumes.some((volume) => volume.includes('upstream.cluster.conf'))
      ? 'upstream.cluster.conf'
      : 'upstream.conf';
    const answering = ledgers.filter(([, { ports }]) => ports.length > 0);
    const configs = await Promise.all(answering.map(([, service]) => configOf(service)));
    const addresses = answering.map(([key], at) => `${key}:${configs[at]?.port}`);
    const named = [...readNginx(upstream).matchAll(/^ {2}server (\S+)/gm)].map(([, one]) => one);
    expect(named).toEqual(addresses);
    for (const { trustedProxies } of configs) expect(trustedProxies).toHaveLength(1);
  });

  it('leaves Postgres more connections than all processes and the command line may take', async () => {
    const configs = await Promise.all(ledgers.map(([, service]) => configOf(service)));
    const most = configs.map(({ databaseConnectionsMax }) => databaseConnectionsMax);
    const given = /max_connections=(\d+)/.exec((postgres.command ?? []).join(' '))?.[1] ?? '100';
    const superusers = 3;
    expect(Number(given) - superusers).toBeGreaterThanOrEqual(
      most.reduce((sum, max) => sum + max, 0) + Math.max(...most),
    );
  });

  it('drops every right that our containers do not need', () => {
    for (const [key, service] of all.filter(([, { image: name }]) => name === LEDGER)) {
      expect([key, service.read_only, service.cap_drop, service.security_opt]).toEqual([
        key,
        true,
        ['ALL'],
        ['no-new-privileges:true'],
      ]);
      // Who runs as root cannot be spoken to, and ends.
      if (service.user !== undefined || service.cap_add.length > 0) {
        expect([isService(service), service.network_mode, service.restart]).toEqual([
          false,
          'none',
          undefined,
        ]);
      }
    }
  });

  it('allows the service its whole time to stop', async () => {
    for (const [, service] of ledgers) {
      const { shutdownGraceMs } = await configOf(service);
      const margin = Number(
        /shutdownGraceMs \+ ([\d_]+)/
          .exec(readFileSync(join(root, 'src', 'process', 'main.ts'), 'utf8'))?.[1]
          ?.replace('_', ''),
      );
      expect(
        Number(/^(\d+)s$/.exec(service.stop_grace_period ?? '')?.[1]) * 1_000,
      ).toBeGreaterThanOrEqual(shutdownGraceMs + margin);
    }
  });

  it('covers every role', async () => {
    const configs = await Promise.all(ledgers.map(([, service]) => configOf(service)));
    expect(ROLES.filter((role) => !configs.some(({ roles }) => roles.has(role)))).toEqual([]);
  });
});

describe(`docker/${ROLE_FILE}`, () => {
  const page = readFileSync(join(root, 'docs', 'how-to', 'use-your-own-postgres.md'), 'utf8');
  const statementsIn = (text: string): string[] =>
    [...text.matchAll(/^(?:create|revoke|grant|alter) [^;]+;$/gm)].map(([statement]) => statement);

  it('makes the role of the page about an own Postgres, and leaves the superuser no password', () => {
    const ofPage = [...page.matchAll(/^```sql\n([^`]+)^```$/gm)].flatMap(([, sql = '']) =>
      statementsIn(sql.replaceAll("'a-long-random-password'", ":'password'")),
    );
    expect(ofPage.length).toBeGreaterThan(4);
    expect(statementsIn(roleFile)).toEqual([...ofPage, 'alter role postgres password null;']);
  });
});

describe('docker/compose.cluster.yaml', () => {
  const { services } = readComposeFile('compose.cluster.yaml');
  const all = Object.entries(services);

  it('has no password in it, and none in an address', () => {
    const text = readFileSync(join(root, 'docker', 'compose.cluster.yaml'), 'utf8');
    expect(text).not.toMatch(/:\/\/[^/\s@]*:[^/\s@]*@/);
    const passwords = all
      .flatMap(([, { environment }]) => Object.keys(environment))
      .filter((name) => name.endsWith('PASSWORD'));
    expect(passwords).toEqual([]);
  });
});
