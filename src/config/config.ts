import { isIP } from 'node:net';
import { join, resolve } from 'node:path';
import * as z from 'zod';
import { CONNECTIONS_MIN } from './connection-budget.js';
import {
  InvalidEventStoreUrl,
  parseEventStoreUrl,
  type EventStoreAddress,
} from './event-store-url.js';
import { isMailAddress } from '../foundation/mail-address.js';
import { parseSmtpUrl, type SmtpAddress } from './smtp-url.js';

export const ROLES = ['api', 'projector', 'worker'] as const;

const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const;
/** Readable text, or one JSON object per line. */
const LOG_FORMATS = ['pretty', 'json'] as const;
export type LogFormat = (typeof LOG_FORMATS)[number];

/** The form of client addresses in log lines: see `loggedAddress`. */
const LOGGED_ADDRESSES = ['short', 'full', 'none'] as const;
export type LoggedAddresses = (typeof LOGGED_ADDRESSES)[number];

/** Fewest client connections; health checks have some of their own. */
const CLIENTS_MIN = 16;

const MIB = 1024 * 1024;

/** A range of addresses, as `net.BlockList#addSubnet` takes it. */
export interface Cidr {
  readonly address: string;
  readonly prefix: number;
  readonly family: 'ipv4' | 'ipv6';
}

export interface OperatorsFilePath {
  readonly path: string;
  /** True for the default path: without the file there are no operators. */
  readonly mayBeMissing: boolean;
}

/** The environment is invalid. One line per problem, without values, which may be secrets. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
  constructor(readonly problems: readonly string[]) {
    super(problems.join('\n'));
  }
}

const text = z.string();

function wholeNumber(min: number, max: number) {
  const message = `must be a whole number from ${min} to ${max}`;
  return text
    .regex(/^\d{1,9}$/, message)
    .transform(Number)
    .refine((value) => value >= min && value <= max, message);
}

function webAddress() {
  const message = 'must be an absolute http or https address without query or fragment';
  return text
    .refine((value) => {
      const url = parseUrl(value);
      return (
        url !== undefined &&
        /^https?:$/.test(url.protocol) &&
        !url.search &&
        !url.hash &&
        !url.username &&
        !url.password
      );
    }, message)
    .transform((value) => value.replace(/\/+$/, ''));
}

function cidrList() {
  return text.transform((value, context) =>
    listOf(value).flatMap((item) => {
      const cidr = parseCidr(item);
      if (cidr) return [cidr];
      context.addIssue({
        code: 'custom',
        message: 'must be a comma list of addresses or ranges such as 10.0.0.0/8 or fd00::/8',
      });
      return [];
    }),
  );
}

function oneOf<T extends string>(known: readonly T[]) {
  return text.transform((value, context): T => {
    const found = known.find((item) => item === value);
    if (found !== undefined) return found;
    context.addIssue({ code: 'custom', message: `must be one of ${known.join(', ')}` });
    return z.NEVER;
  });
}

function setOf<T extends string>(known: readonly T[]) {
  return text.transform((value, context): ReadonlySet<T> => {
    const items = listOf(value);
    const found = known.filter((item) => items.includes(item));
    if (found.length === 0 || items.some((item) => !known.some((one) => one === item))) {
      context.addIssue({ code: 'custom', message: `must be a comma list of ${known.join(', ')}` });
    }
    return new Set(found);
  });
}

function postgresAddress() {
  return text.refine((value) => {
    const url = parseUrl(value);
    return url !== undefined && /^postgres(ql)?:$/.test(url.protocol);
  }, 'must be a Postgres address: postgresql://user:password@host:port/database');
}

function smtpAddress() {
  return text.transform((value, context): SmtpAddress => {
    const address = parseSmtpUrl(value);
    if (typeof address !== 'string') return address;
    context.addIssue({ code: 'custom', message: address });
    return z.NEVER;
  });
}

function eventStoreAddress() {
  return text.transform((value, context): EventStoreAddress => {
    try {
      return parseEventStoreUrl(value);
    } catch (error) {
      if (!(error instanceof InvalidEventStoreUrl)) throw error;
      context.addIssue({ code: 'custom', message: error.message });
      return z.NEVER;
    }
  });
}

/**
 * All environment variables, which docs/configuration.md explains. A variable's name is its member
 * in capitals unless `NAMES` has another one.
 */
const environmentSchema = z.object({
  dataDir: text.default('.data').transform((path) => resolve(path)),
  host: text.regex(/^[A-Za-z0-9.:%_-]+$/, 'must be an address or a host name').default('127.0.0.1'),
  port: wholeNumber(0, 65_535).default(3000),
  /** Undefined: operators, health and metrics use `port`. */
  operationsPort: wholeNumber(0, 65_535).optional(),
  /** Undefined: the embedded Postgres below `dataDir`. */
  databaseUrl: postgresAddress().optional(),
  /** Undefined: the log is in Postgres. */
  eventStore: eventStoreAddress().optional(),
  eventStoreNamespace: text
    .regex(
      /^[A-Za-z0-9][A-Za-z0-9._-]{0,59}$/,
      'must be up to 60 letters, digits, dots, dashes and underscores',
    )
    .optional(),
  masterKeyFile: text.optional(),
  operatorsFile: text.optional(),
  /** Without a trailing slash; `publicUrlAt` has the default once the port is known. */
  publicUrl: webAddress().optional(),
  roles: setOf(ROLES).default(new Set(ROLES)),
  logLevel: oneOf(LOG_LEVELS).default('info'),
  /** Undefined: readable on a terminal, JSON elsewhere. */
  logFormat: oneOf(LOG_FORMATS).optional(),
  logAddresses: oneOf(LOGGED_ADDRESSES).default('short'),
  webhookAllowCidrs: cidrList().default([]),
  /** Undefined: no mails are sent. */
  smtp: smtpAddress().optional(),
  /** Sender of mails unless a theme names one; undefined: derived from the public host. */
  mailFrom: text.refine(isMailAddress, 'must be an e-mail address').optional(),
  trustedProxies: cidrList().default([]),
  databaseConnectionsMax: wholeNumber(CONNECTIONS_MIN, 1000).default(40),
  /** Per tenant. */
  exportsStoredBytesMax: wholeNumber(1, 1_000_000_000)
    .default(20_480)
    .transform((mib) => mib * MIB),
  statementTimeoutMs: wholeNumber(100, 600_000).default(10_000),
  rememberedStreamsMb: wholeNumber(1, 100_000).default(512),
  requestsInFlightMax: wholeNumber(1, 100_000).default(1000),
  connectionsMax: wholeNumber(CLIENTS_MIN, 100_000).default(4096),
  connectionsPerAddressMax: wholeNumber(1, 100_000).default(256),
  failedCredentialsPerMinute: wholeNumber(1, 1_000_000).default(300),
  positionWaitMs: wholeNumber(0, 60_000).default(5_000),
  ownWritesWaitMs: wholeNumber(0, 60_000).default(2_000),
  shutdownGraceMs: wholeNumber(0, 600_000).default(10_000),
});

const NAMES: Readonly<Record<string, string>> = {
  eventStore: 'EVENT_STORE_URL',
  smtp: 'SMTP_URL',
  exportsStoredBytesMax: 'EXPORTS_STORED_MB',
};

const nameOf = (member: string): string =>
  NAMES[member] ?? member.replace(/[A-Z]/g, '_$&').toUpperCase();

const MEMBERS = Object.keys(environmentSchema.shape);

export const VARIABLES: readonly string[] = MEMBERS.map(nameOf);

type Environment = z.output<typeof environmentSchema>;

type Parsed = { readonly [K in keyof Required<Environment>]: Environment[K] };

/** The parsed environment. Paths are absolute. */
export interface Config extends Omit<Parsed, 'masterKeyFile' | 'operatorsFile'> {
  readonly masterKeyFile: string;
  /** Undefined: the operations interface is closed. */
  readonly operatorsFile: OperatorsFilePath | undefined;
}

/**
 * Parses the environment. An empty variable counts as unset; unknown variables are ignored.
 * @throws {ConfigError} with one line per invalid variable.
 */
export function loadConfig(
  environment: Readonly<Record<string, string | undefined>> = process.env,
): Config {
  const given = Object.fromEntries(
    MEMBERS.flatMap((member) => {
      const value = environment[nameOf(member)]?.trim();
      return value ? [[member, value]] : [];
    }),
  );
  const parsed = environmentSchema.safeParse(given);
  const problems = new Map<string, string>();
  // One problem per variable.
  for (const { path, message } of parsed.error?.issues ?? []) {
    const name = nameOf(String(path[0]));
    if (!problems.has(name)) problems.set(name, `${name} ${message}`);
  }
  if (given['databaseUrl'] && !given['masterKeyFile']) {
    problems.set(
      'MASTER_KEY_FILE',
      'MASTER_KEY_FILE is required with DATABASE_URL: a file with 32 random bytes as 64 hex digits, mode 0600',
    );
  }
  if (parsed.data?.operationsPort && parsed.data.operationsPort === parsed.data.port)
    problems.set('OPERATIONS_PORT', 'OPERATIONS_PORT must be another port than PORT');
  if (!parsed.success || problems.size > 0) throw new ConfigError([...problems.values()]);

  const { data } = parsed;
  const masterKeyFile = resolve(data.masterKeyFile ?? join(data.dataDir, 'master.key'));
  return { ...data, masterKeyFile, operatorsFile: operatorsFileOf(data) } as Config;
}

function operatorsFileOf({
  operatorsFile: path,
  databaseUrl,
  dataDir,
}: Environment): OperatorsFilePath | undefined {
  if (path !== undefined) return { path: resolve(path), mayBeMissing: false };
  if (databaseUrl !== undefined) return undefined;
  return { path: join(dataDir, 'operators.json'), mayBeMissing: true };
}

/** The service's external address: PUBLIC_URL, or derived from the listening address. */
export function publicUrlAt(
  { publicUrl, host }: Pick<Config, 'publicUrl' | 'host'>,
  port: number,
): string {
  if (publicUrl !== undefined) return publicUrl;
  // A client cannot call the wildcard address.
  const reachable = host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host;
  return `http://${isIP(reachable) === 6 ? `[${reachable}]` : reachable}:${port}`;
}

function listOf(value: string): readonly string[] {
  return value
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '');
}

function parseCidr(item: string): Cidr | undefined {
  const [address = '', bits, ...rest] = item.split('/');
  const version = isIP(address);
  if (version === 0 || address.includes('%') || rest.length > 0) return undefined;
  const widest = version === 4 ? 32 : 128;
  const prefix = bits === undefined ? widest : /^\d{1,3}$/.test(bits) ? Number(bits) : -1;
  if (prefix < 0 || prefix > widest) return undefined;
  return { address, prefix, family: version === 4 ? 'ipv4' : 'ipv6' };
}

function parseUrl(value: string): URL | undefined {
  return URL.canParse(value) ? new URL(value) : undefined;
}
