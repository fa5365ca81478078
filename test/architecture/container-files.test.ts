import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { rootCertificates } from 'node:tls';
import { loadConfig, VARIABLES, type Config } from '../../src/config/config.js';
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

const OTHERS = ['HOME', 'DATABASE_PASSWORD_FILE', 'EVENT_STORE_PASSWORD_FILE'];

const PASSWORD = 'p@ss/w:o?r#d %';
let folder = '';

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'ledger-containers-'));
  writeFileSync(join(folder, 'password'), `${PASSWORD}\n`);
  writeFileSync(join(folder, 'ca.crt'), rootCertificates[0] ?? '');
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

const isService = (service: ComposeService): boolean =>
  service.image === LEDGER && service.command === undefined;

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

  it('names a version of each image, and not the latest one', () => {
    const images = [...readDockerfile(), ...Object.values(services)].map(({ image: one }) => one);
    const others = images.filter((one) => one !== LEDGER);
    expect(
      others.filter((one) => !/^[\w./-]+:\d[\w.-]*(@sha256:[0-9a-f]{64})?$/.test(one)),
    ).toEqual([]);
  });

  it('sets only variables that exist', () => {
    const known = [...OTHERS, ...VARIABLES];
    const ours = all.filter(([, service]) => service.image === LEDGER);
    const unknown = ours.flatMap(([key, service]) =>
      Object.keys(environmentIn(service))
        .filter((variable) => !known.includes(variable))
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

  it('forwards outside requests to the serving processes as their trusted proxy', async () => {
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

  it('drops every capability that the containers do not need', () => {
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
});

const { services } = readComposeFile('compose.cluster.yaml');
const all = Object.entries(services);

it('docker/compose.cluster.yaml has no password in it, and none in an address', () => {
  const text = readFileSync(join(root, 'docker', 'compose.cluster.yaml'), 'utf8');
  expect(text).not.toMatch(/:\/\/[^/\s@]*:[^/\s@]*@/);
  const passwords = all
    .flatMap(([, { environment }]) => Object.keys(environment))
    .filter((name) => name.endsWith('PASSWORD'));
  expect(passwords).toEqual([]);
});
