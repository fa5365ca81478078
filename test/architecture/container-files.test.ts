import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { rootCertificates } from 'node:tls';
import { loadConfig, ROLES, SETTINGS, type Config } from '../../src/config/config.js';
import {
  environmentOf,
  mountsOf,
  readComposeFile,
  readDockerfile,
  textsOf,
  type ComposeService,
} from '../support/container-files.js';

/**
 * No engine starts these files when the tests run: what they say is compared with what the code
 * reads, and with each other.
 */
const root = join(__dirname, '..', '..');
const image = readDockerfile().at(-1)!;
const imageEnvironment = environmentOf(image);
const imageUser = textsOf(image, 'USER').at(-1)!;

const LEDGER = 'referral-ledger:local';
const POSTGRES = 'postgres';
const EVENT_STORE = 'eventstore/eventstore';
/** The user of EventStoreDB's own image. */
const EVENT_STORE_USER = '1000:1000';
const POSTGRES_PORT = '5432';
const EVENT_STORE_PORT = '2113';

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
const [, ROLE = ''] = /^create role (\w+) /m.exec(roleFile) ?? [];
const [, DATABASE = '', OWNER] = /^create database (\w+) owner (\w+) /m.exec(roleFile) ?? [];

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

/** Files and folders that a container is told of by its environment, or reads when it starts. */
function pathsNamedFor(service: ComposeService): readonly string[] {
  const told =
    service.image === LEDGER && !isService(service) ? [] : Object.entries(environmentIn(service));
  const found = told
    .filter(([name]) => !['HOME', 'DATA_DIR'].includes(name))
    .map(([, value]) => /(?:^|=)(\/[^&]+)/.exec(value)?.[1]);
  const read = [...(service.command ?? []).join('\n').matchAll(/\$\$\(cat ([^)]+)\)/g)].map(
    ([, path]) => path,
  );
  return [...found, ...read].filter((path) => path !== undefined);
}

describe.each([['compose.yaml'], ['compose.cluster.yaml']])('docker/%s', (name) => {
  const { services, volumes, secrets } = readComposeFile(name);
  const all = Object.entries(services);
  const ledgers = all.filter(([, service]) => isService(service));
  const eventStores = all.filter(([, service]) => imageOf(service) === EVENT_STORE);
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

  it('publishes the port that the service listens on, to this machine only', async () => {
    const published = all.flatMap(([, service]) =>
      service.ports.map((port) => ({ service, parts: port.split(':') })),
    );
    for (const { service, parts } of published) {
      const port = isService(service) ? String((await configOf(service)).port) : EVENT_STORE_PORT;
      expect(parts).toEqual(['127.0.0.1', expect.stringMatching(/^\d+$/), port]);
    }
    expect(new Set(published.map(({ parts }) => parts[1])).size).toBe(published.length);
    const answering = ledgers.filter(([, service]) =>
      (service.environment.ROLES ?? 'api').includes('api'),
    );
    expect(ledgers.filter(([, { ports }]) => ports.length > 0)).toEqual(answering);
  });

  it('names stores of the composition by their names and ports', () => {
    expect(imageOf(postgres)).toBe(POSTGRES);
    for (const [, { environment }] of ledgers) {
      const { username, hostname, port, pathname } = new URL(environment.DATABASE_URL!);
      expect([services[hostname], port, username, pathname]).toEqual([
        postgres,
        POSTGRES_PORT,
        ROLE,
        `/${DATABASE}`,
      ]);
      if (environment.DATABASE_PASSWORD_FILE !== undefined) {
        expect(basename(environment.DATABASE_PASSWORD_FILE)).toBe(
          basename(postgres.environment.POSTGRES_PASSWORD_FILE!),
        );
      }
      const [, hosts = '', query] =
        /^esdb:\/\/(?:[^@]*@)?([^?]+)\?(.*)$/.exec(environment.EVENT_STORE_URL!) ?? [];
      expect(hosts.split(',')).toEqual(eventStores.map(([host]) => `${host}:${EVENT_STORE_PORT}`));
      const insecure = eventStores.some(
        ([, store]) => store.environment.EVENTSTORE_INSECURE === 'true',
      );
      expect(new URLSearchParams(query).get('tls')).toBe(String(!insecure));
    }
  });

  it('gives the service an ordinary role that owns its database', () => {
    const made = mountsOf(postgres).filter(({ path }) =>
      path.startsWith('/docker-entrypoint-initdb.d/'),
    );
    expect(made).toEqual([
      {
        volume: `./${ROLE_FILE}`,
        path: `/docker-entrypoint-initdb.d/${ROLE_FILE}`,
        readOnly: true,
      },
    ]);
    // The image makes its own user a superuser.
    expect(Object.keys(postgres.environment)).not.toContain('POSTGRES_USER');
    expect([ROLE, OWNER]).toEqual(['ledger', ROLE]);
    for (const option of ['username', 'dbname'])
      expect(postgres.healthcheck?.test).toContain(
        `--${option}=${option === 'dbname' ? DATABASE : ROLE}`,
      );
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

  it('mounts every file that a container names, from a step that ends before it starts', () => {
    for (const [key, service] of all) {
      for (const path of pathsNamedFor(service)) {
        const mount = mountsOf(service).find(
          (each) => path === each.path || path.startsWith(`${each.path}/`),
        );
        if (path.startsWith('/run/secrets/')) {
          expect(service.secrets).toContain(basename(path));
          continue;
        }
        const makers = all.filter(
          ([maker, other]) =>
            service.depends_on[maker]?.condition === 'service_completed_successfully' &&
            mountsOf(other).some(({ volume, readOnly }) => volume === mount?.volume && !readOnly) &&
            (other.command ?? []).join(' ').includes(basename(path)),
        );
        expect([key, path, mount?.readOnly, makers.length]).toEqual([key, path, true, 1]);
      }
    }
  });

  it('gives the service a read-only file system: its data is in its stores', async () => {
    for (const [key, service] of ledgers) {
      expect([key, service.read_only, service.tmpfs, service.init]).toEqual([
        key,
        true,
        ['/tmp'],
        true,
      ]);
      expect(mountsOf(service).filter(({ readOnly }) => !readOnly)).toEqual([]);
      // With a database of its own it makes nothing below DATA_DIR.
      expect((await configOf(service)).databaseUrl).toBeDefined();
    }
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

  it('restarts services after every exit, and runs one-off steps once', () => {
    const awaited = all.flatMap(([, { depends_on: needs }]) =>
      Object.entries(needs).flatMap(([key, { condition }]) =>
        condition === 'service_completed_successfully' ? [key] : [],
      ),
    );
    for (const [key, { restart }] of all)
      expect([key, restart]).toEqual([key, awaited.includes(key) ? undefined : 'unless-stopped']);
  });

  it('waits only for containers with a health check', () => {
    for (const [key, { depends_on: needs }] of all) {
      for (const [needed, { condition }] of Object.entries(needs)) {
        expect([key, needed, services[needed] !== undefined]).toEqual([key, needed, true]);
        if (condition === 'service_healthy')
          expect([needed, services[needed]?.healthcheck !== undefined]).toEqual([needed, true]);
      }
    }
  });

  it('declares the volumes and secrets that it uses, and uses those that it declares', () => {
    const mounted = new Set(
      all
        .flatMap(([, service]) => mountsOf(service).map(({ volume }) => volume))
        .filter((volume) => !volume.startsWith('./')),
    );
    expect([...mounted].sort()).toEqual(Object.keys(volumes).sort());
    expect([...new Set(all.flatMap(([, service]) => service.secrets))].sort()).toEqual(
      Object.keys(secrets).sort(),
    );
    expect(
      Object.entries(secrets).filter(([key, { file }]) => file !== `./secrets/${key}`),
    ).toEqual([]);
  });

  it('has volumes where the images of the stores write', () => {
    const kept = (service: ComposeService): string[] =>
      mountsOf(service)
        .filter(({ readOnly }) => !readOnly)
        .map(({ path }) => path);
    expect(postgres.image).toMatch(/^postgres:18(@sha256:[0-9a-f]{64})?$/);
    expect(kept(postgres)).toEqual(['/var/lib/postgresql']);
    for (const [, service] of eventStores) {
      expect(service.image).toMatch(/^eventstore\/eventstore:23\.10\.\d+/);
      expect(kept(service)).toEqual(['/var/lib/eventstore', '/var/log/eventstore']);
      expect(service.environment.EVENTSTORE_CLUSTER_SIZE).toBe(String(eventStores.length));
      const scheme = service.environment.EVENTSTORE_INSECURE === 'true' ? 'http' : 'https';
      expect(service.healthcheck?.test.at(-1)).toBe(
        `${scheme}://localhost:${EVENT_STORE_PORT}/health/live`,
      );
    }
    const data = [postgres, ...eventStores.map(([, service]) => service)]
      .flatMap(mountsOf)
      .filter(({ readOnly }) => !readOnly);
    expect(new Set(data.map(({ volume }) => volume)).size).toBe(data.length);
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

  it('has two processes for requests, one for projections and one for jobs', () => {
    const roles = all
      .filter(([, service]) => isService(service))
      .map(([, { environment }]) => environment.ROLES);
    expect(roles).toEqual(['api', 'api', 'projector', 'worker']);
  });

  it('has no password in it, and none in an address', () => {
    const text = readFileSync(join(root, 'docker', 'compose.cluster.yaml'), 'utf8');
    expect(text).not.toMatch(/:\/\/[^/\s@]*:[^/\s@]*@/);
    const passwords = all
      .flatMap(([, { environment }]) => Object.keys(environment))
      .filter((name) => name.endsWith('PASSWORD'));
    expect(passwords).toEqual([]);
  });

  it('makes secrets readable for the users of the images', () => {
    const script = services.secrets!.command!.join('\n');
    const handed = [
      ...script.matchAll(/^node \/app\/docker\/install-secrets\.mjs (\S+) (\S+) (.+)$/gm),
    ];
    const volumeAt = (path: string) =>
      mountsOf(services.secrets!).find((mount) => mount.path === path)?.volume;
    for (const [, owner, path = '', names = ''] of handed) {
      const readers = all.filter(
        ([key, service]) =>
          key !== 'secrets' && mountsOf(service).some(({ volume }) => volume === volumeAt(path)),
      );
      const users = readers.map(([, service]) =>
        imageOf(service) === EVENT_STORE ? EVENT_STORE_USER : imageUser,
      );
      expect(new Set(users)).toEqual(new Set([owner]));
      expect(
        names.split(' ').filter((secret) => !services.secrets!.secrets.includes(secret)),
      ).toEqual([]);
      const wanted = readers.flatMap(([, service]) => {
        const mount = mountsOf(service).find(({ volume }) => volume === volumeAt(path))!;
        return pathsNamedFor(service).filter((file) => file.startsWith(`${mount.path}/`));
      });
      expect([...new Set(wanted.map((file) => basename(file)))].sort()).toEqual(
        names.split(' ').sort(),
      );
    }
    expect(handed.length).toBe(2);
  });

  it('names the nodes as their certificates do', () => {
    const nodes = all.filter(([, service]) => imageOf(service) === EVENT_STORE);
    expect(nodes.map(([key]) => key)).toEqual(['eventstore-1', 'eventstore-2', 'eventstore-3']);
    for (const [key, service] of nodes) {
      const others = nodes
        .filter(([other]) => other !== key)
        .map(([other]) => `${other}:${EVENT_STORE_PORT}`);
      expect(service.environment.EVENTSTORE_GOSSIP_SEED?.split(',')).toEqual(others);
      expect(service.environment.EVENTSTORE_NODE_HOST_ADVERTISE_AS).toBe(key);
      expect(service.environment.EVENTSTORE_REPLICATION_HOST_ADVERTISE_AS).toBe(key);
      expect(mountsOf(service).map(({ volume }) => volume)).toContain(`${key}-certificate`);
    }
    expect(services.certificates!.command!.join('\n')).toContain(
      '-dns-names eventstore-$$node,localhost',
    );
  });

  it('gives the key of the authority only to the step that makes certificates', () => {
    const withKey = all.filter(([, service]) =>
      mountsOf(service).some(({ volume }) => volume === 'eventstore-authority'),
    );
    expect(withKey.map(([key]) => key)).toEqual(['certificates']);
  });
});
