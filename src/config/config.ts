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

export type Role = 'api' | 'projector' | 'worker';
export const ROLES: readonly Role[] = ['api', 'projector', 'worker'];

export type LogLevel = 'fatal' | 'error' | 'warn' | 'info' | 'debug' | 'trace' | 'silent';
const LOG_LEVELS: readonly LogLevel[] = [
  'fatal',
  'error',
  'warn',
  'info',
  'debug',
  'trace',
  'silent',
];

/** Readable text, or one JSON object per line. */
export type LogFormat = 'pretty' | 'json';
const LOG_FORMATS: readonly LogFormat[] = ['pretty', 'json'];

/** How addresses of clients stand in log lines: see `loggedAddress`. */
export type LoggedAddresses = 'short' | 'full' | 'none';
const LOGGED_ADDRESSES: readonly LoggedAddresses[] = ['short', 'full', 'none'];

/** Fewest connections of clients; health checks have some beside them. */
export const CLIENTS_MIN = 16;

/** A range of addresses, as `net.BlockList#addSubnet` takes it. */
export interface Cidr {
  readonly address: string;
  readonly prefix: number;
  readonly family: 'ipv4' | 'ipv6';
}

/** Where the list of operators is. */
export interface OperatorsFilePath {
  readonly path: string;
  /** True for the default path: without the file there are no operators. */
  readonly mayBeMissing: boolean;
}

/** The parsed environment. Paths are absolute. */
export interface Config {
  readonly dataDir: string;
  readonly host: string;
  /** 0: any free port. */
  readonly port: number;
  /** Undefined: health and metrics are answered at `port`. 0: any free port. */
  readonly operationsPort: number | undefined;
  /** Undefined: the embedded Postgres below `dataDir`. */
  readonly databaseUrl: string | undefined;
  /** Undefined: the log is in Postgres. */
  readonly eventStore: EventStoreAddress | undefined;
  readonly eventStoreNamespace: string | undefined;
  readonly masterKeyFile: string;
  /** Undefined: the operations interface is closed. */
  readonly operatorsFile: OperatorsFilePath | undefined;
  /** Whether the console has the page with each of its components. */
  /**
   * As configured, without a trailing slash; `publicUrlAt` computes the default once the port is
   * known.
   */
  readonly publicUrl: string | undefined;
  readonly roles: ReadonlySet<Role>;
  readonly logLevel: LogLevel;
  /** Undefined: readable on a terminal, JSON elsewhere. */
  readonly logFormat: LogFormat | undefined;
  /** How addresses of clients stand in log lines. */
  readonly logAddresses: LoggedAddresses;
  readonly webhookAllowCidrs: readonly Cidr[];
  /** Undefined: no mail goes out. */
  readonly smtp: SmtpAddress | undefined;
  /** The address that mails are from, unless a theme names one; undefined: of the public host. */
  readonly mailFrom: string | undefined;
  readonly trustedProxies: readonly Cidr[];
  readonly databaseConnectionsMax: number;
  readonly statementTimeoutMs: number;
  /** Bytes that the files of a tenant's exports take at most. */
  readonly exportsStoredBytesMax: number;
  readonly requestsInFlightMax: number;
  readonly connectionsMax: number;
  readonly connectionsPerAddressMax: number;
  readonly failedCredentialsPerMinute: number;
  /** For the cached streams of all kinds together. */
  readonly rememberedStreamsMb: number;
  readonly positionWaitMs: number;
  readonly ownWritesWaitMs: number;
  readonly shutdownGraceMs: number;
}

/** The environment is invalid. One line per problem; never a value, which may be a secret. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
  constructor(readonly problems: readonly string[]) {
    super(problems.join('\n'));
  }
}

/** A row of the table in docs/configuration.md; a test compares the two. */
export interface Setting {
  readonly name: string;
  readonly default: string;
  readonly meaning: string;
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

/** Every environment variable of the service: its parser, default and meaning. */
const VARIABLES = {
  DATA_DIR: {
    schema: text.default('.data'),
    default: '`.data`',
    meaning:
      'Folder of the embedded Postgres and of the master key; made with mode 0700 when missing. Relative to the working directory.',
  },
  HOST: {
    schema: text
      .regex(/^[A-Za-z0-9.:%_-]+$/, 'must be an address or a host name')
      .default('127.0.0.1'),
    default: '`127.0.0.1`',
    meaning: 'Address to listen on; `0.0.0.0` or `::` for all.',
  },
  PORT: {
    schema: wholeNumber(0, 65_535).default(3000),
    default: '`3000`',
    meaning: 'Port to listen on; `0` takes any free one.',
  },
  OPERATIONS_PORT: {
    schema: wholeNumber(0, 65_535).optional(),
    default: 'none',
    meaning:
      'Port of a second listener at `HOST`, for `/operations`, `/console`, `/health` and `/metrics`; of them `PORT` then answers `/health/live` alone. `/`, `/docs` and `/openapi.json` are on both. `0` takes any free one.',
  },
  DATABASE_URL: {
    schema: postgresAddress().optional(),
    default: 'embedded Postgres',
    meaning:
      'An own Postgres (16 or newer) instead of the embedded one: `postgresql://user:password@host:port/database`, with TLS `?sslmode=verify-full&sslrootcert=…` ([role and TLS](how-to/use-your-own-postgres.md)). Needs `MASTER_KEY_FILE`.',
  },
  EVENT_STORE_URL: {
    schema: eventStoreAddress().optional(),
    default: 'the log in Postgres',
    meaning:
      'Puts the log on EventStoreDB (21.10 or newer), one node or a cluster: `esdb://user:password@host:2113,host:2113` or `esdb+discover://name`, with options behind `?`: `tls`, `tlsCAFile`, `userCertFile`, `userKeyFile`, `connectionName`, `keepAliveInterval`, `keepAliveTimeout`, `maxDiscoverAttempts`, `discoveryInterval`, `gossipTimeout`, `defaultDeadline` (the time for an append, in ms). A log that exists is moved with `cli log copy` first.',
  },
  EVENT_STORE_NAMESPACE: {
    schema: text
      .regex(
        /^[A-Za-z0-9][A-Za-z0-9._-]{0,59}$/,
        'must be up to 60 letters, digits, dots, dashes and underscores',
      )
      .optional(),
    default: 'none',
    meaning:
      'Put before the name of every stream in EventStoreDB (`staging-`), so that several ledgers can share one store.',
  },
  MASTER_KEY_FILE: {
    schema: text.optional(),
    default: '`<DATA_DIR>/master.key`',
    meaning:
      'File with the master key: 32 random bytes as 64 hex digits, readable for its owner only (mode 0600 or 0400). Required with `DATABASE_URL`; with the embedded Postgres it is made on the first start. Losing it means losing every personal field.',
  },
  OPERATORS_FILE: {
    schema: text.optional(),
    default: '`<DATA_DIR>/operators.json` with the embedded Postgres, else none',
    meaning:
      'File that lists the operators, who may call `/operations/…` and sign in to `/console`: a JSON list of names, roles (`finance`, `support`, `viewer`) and hashes of keys; `cli operator key` makes entries. The start that makes the tenant `demo` makes the default file with the operator `admin`. Without a file all calls are refused. Changes count from the next call; with a mode that lets other users write the file the service does not start, and later no key in the file counts.',
  },
  PUBLIC_URL: {
    schema: webAddress().optional(),
    default: '`http://HOST:PORT`',
    meaning:
      'How the outside reaches the service: the start of share links, downloads and the OpenAPI page. Where several processes run, they need the same one: each sends webhooks with links.',
  },
  ROLES: {
    schema: setOf(ROLES).default(new Set(ROLES)),
    default: '`api,projector,worker`',
    meaning:
      'What this process does: answer HTTP, keep the read models, run policies and jobs (webhooks, exports, schedules).',
  },
  LOG_LEVEL: {
    schema: oneOf(LOG_LEVELS).default('info'),
    default: '`info`',
    meaning:
      'Least level that is logged: `fatal`, `error`, `warn`, `info`, `debug`, `trace`; `silent` for nothing.',
  },
  LOG_FORMAT: {
    schema: oneOf(LOG_FORMATS).optional(),
    default: '`pretty` on a terminal, else `json`',
    meaning:
      'Form of log lines: `pretty` is readable text (with colours on a terminal, unless `NO_COLOR` is set), `json` one JSON object per line.',
  },
  LOG_ADDRESSES: {
    schema: oneOf(LOGGED_ADDRESSES).default('short'),
    default: '`short`',
    meaning:
      'How addresses of clients stand in log lines: `short` (the first 24 bits of IPv4, 48 of IPv6), `full`, or `none`.',
  },
  WEBHOOK_ALLOW_CIDRS: {
    schema: cidrList().default([]),
    default: 'none',
    meaning:
      'Private, loopback or link-local ranges to which webhooks may be sent all the same, as a comma list: `10.0.0.0/8,fd00::/8`.',
  },
  SMTP_URL: {
    schema: smtpAddress().optional(),
    default: 'none',
    meaning:
      'Server that takes mails: `smtps://user:password@host:465` (TLS), or `smtp://host:587`, which uses TLS where the server offers it, without proof of who that is; with `?requireTLS=true`, or with a user and another host than this one, only TLS with a good certificate. Without it no mail goes out.',
  },
  MAIL_FROM: {
    schema: text.refine(isMailAddress, 'must be an e-mail address').optional(),
    default: '`no-reply@` and the host of `PUBLIC_URL`',
    meaning:
      'Address of the service: the envelope sender of every mail, and its From unless the theme of the tenant names an address at a domain of `tenant update --mail-domains` (`email.configuration.fromAddress`); another address becomes Reply-To.',
  },
  TRUSTED_PROXIES: {
    schema: cidrList().default([]),
    default: 'none',
    meaning:
      "Proxies whose `X-Forwarded-For` is believed for the address of a client (rate limits, first and last address of a user), and whose `X-Forwarded-Proto` and `X-Forwarded-Host` are for the console's address (its cookie is `Secure` behind TLS), as a comma list of addresses and ranges.",
  },
  DATABASE_CONNECTIONS_MAX: {
    schema: wholeNumber(CONNECTIONS_MIN, 1000).default(40),
    default: '`40`',
    meaning:
      'Connections to Postgres that this process opens at most, over all its pools; at least 23. The embedded server takes 120 over all processes.',
  },
  EXPORTS_STORED_MB: {
    schema: wholeNumber(1, 1_000_000_000).default(20_480),
    default: '`20480`',
    meaning:
      "Room in the database for the files of a tenant's exports, in MiB, as they are stored: compressed and encrypted. An export that does not fit is `ABORTED`; files live 28 days.",
  },
  STATEMENT_TIMEOUT_MS: {
    schema: wholeNumber(100, 600_000).default(10_000),
    default: '`10000`',
    meaning:
      'Longest statement on behalf of a request, in ms; then 503. Rebuilds and exports are not bound by it.',
  },
  REMEMBERED_STREAMS_MB: {
    schema: wholeNumber(1, 100_000).default(512),
    default: '`512`',
    meaning:
      'Memory for accounts and other streams that this process caches between commands, in MiB, estimated at twice the bytes of their events. The least recently used one is dropped and read again when it is needed; an account that is larger by itself is read again for each command.',
  },
  REQUESTS_IN_FLIGHT_MAX: {
    schema: wholeNumber(1, 100_000).default(1000),
    default: '`1000`',
    meaning:
      'Requests that are worked on or wait for it; beyond it, and beyond half of the queue for one tenant, they are answered 503 with `Retry-After`.',
  },
  CONNECTIONS_MAX: {
    schema: wholeNumber(CLIENTS_MIN, 100_000).default(4096),
    default: '`4096`',
    meaning: 'Connections of clients to this process; more are closed without an answer.',
  },
  CONNECTIONS_PER_ADDRESS_MAX: {
    schema: wholeNumber(1, 100_000).default(256),
    default: '`256`',
    meaning:
      'Connections of one address (of IPv6: of a /64); more are closed without an answer. At most a sixteenth of `CONNECTIONS_MAX`, or 16. Trusted proxies have no such limit.',
  },
  FAILED_CREDENTIALS_PER_MINUTE: {
    schema: wholeNumber(1, 1_000_000).default(300),
    default: '`300`',
    meaning:
      'Wrong keys and tokens of one address in a minute; beyond that they are answered 429 instead of 401. Good ones always pass. As many refusals of any kind to callers without good credentials are sent at once; beyond that each is held for 0.1 s, and an address has 200 a second.',
  },
  POSITION_WAIT_MS: {
    schema: wholeNumber(0, 60_000).default(5_000),
    default: '`5000`',
    meaning:
      'How long a read waits for the read models to reach the position it asks for, in ms; then 503.',
  },
  OWN_WRITES_WAIT_MS: {
    schema: wholeNumber(0, 60_000).default(2_000),
    default: '`2000`',
    meaning:
      'How long a read waits for earlier writes of its tenant, in ms; then it is answered without them, with `Ledger-Stale`. There is no wait while read models or reactions are stalled.',
  },
  SHUTDOWN_GRACE_MS: {
    schema: wholeNumber(0, 600_000).default(10_000),
    default: '`10000`',
    meaning: 'How long requests in flight may take to finish after SIGTERM or SIGINT, in ms.',
  },
} as const;

export const SETTINGS: readonly Setting[] = Object.entries(VARIABLES).map(
  ([name, { default: fallback, meaning }]) => ({
    name,
    default: fallback,
    meaning,
  }),
);

type Schemas = { readonly [N in keyof typeof VARIABLES]: (typeof VARIABLES)[N]['schema'] };
const environmentSchema = z.object(
  Object.fromEntries(
    Object.entries(VARIABLES).map(([name, { schema }]) => [name, schema]),
  ) as unknown as Schemas,
);

/**
 * Parses the environment. An empty variable counts as unset; unknown variables are ignored.
 * @throws {ConfigError} with one line for each invalid variable.
 */
export function loadConfig(
  environment: Readonly<Record<string, string | undefined>> = process.env,
): Config {
  const given = Object.fromEntries(
    Object.keys(VARIABLES).flatMap((name) => {
      const value = environment[name]?.trim();
      return value ? [[name, value]] : [];
    }),
  );
  const parsed = environmentSchema.safeParse(given);
  const problems = new Map<string, string>();
  // One problem per variable is enough.
  for (const { path, message } of parsed.error?.issues ?? []) {
    const name = String(path[0]);
    if (!problems.has(name)) problems.set(name, `${name} ${message}`);
  }
  if (given.DATABASE_URL && !given.MASTER_KEY_FILE) {
    problems.set(
      'MASTER_KEY_FILE',
      'MASTER_KEY_FILE is required with DATABASE_URL: a file with 32 random bytes as 64 hex digits, mode 0600',
    );
  }
  if (parsed.data?.OPERATIONS_PORT && parsed.data.OPERATIONS_PORT === parsed.data.PORT)
    problems.set('OPERATIONS_PORT', 'OPERATIONS_PORT must be another port than PORT');
  if (!parsed.success || problems.size > 0) throw new ConfigError([...problems.values()]);

  const values = parsed.data;
  const dataDir = resolve(values.DATA_DIR);
  return {
    dataDir,
    host: values.HOST,
    port: values.PORT,
    operationsPort: values.OPERATIONS_PORT,
    databaseUrl: values.DATABASE_URL,
    eventStore: values.EVENT_STORE_URL,
    eventStoreNamespace: values.EVENT_STORE_NAMESPACE,
    masterKeyFile: resolve(values.MASTER_KEY_FILE ?? join(dataDir, 'master.key')),
    operatorsFile: operatorsFileOf(values, dataDir),
    publicUrl: values.PUBLIC_URL,
    roles: values.ROLES,
    logLevel: values.LOG_LEVEL,
    logFormat: values.LOG_FORMAT,
    logAddresses: values.LOG_ADDRESSES,
    smtp: values.SMTP_URL,
    mailFrom: values.MAIL_FROM,
    webhookAllowCidrs: values.WEBHOOK_ALLOW_CIDRS,
    trustedProxies: values.TRUSTED_PROXIES,
    databaseConnectionsMax: values.DATABASE_CONNECTIONS_MAX,
    exportsStoredBytesMax: values.EXPORTS_STORED_MB * 1024 * 1024,
    statementTimeoutMs: values.STATEMENT_TIMEOUT_MS,
    rememberedStreamsMb: values.REMEMBERED_STREAMS_MB,
    requestsInFlightMax: values.REQUESTS_IN_FLIGHT_MAX,
    connectionsMax: values.CONNECTIONS_MAX,
    connectionsPerAddressMax: values.CONNECTIONS_PER_ADDRESS_MAX,
    failedCredentialsPerMinute: values.FAILED_CREDENTIALS_PER_MINUTE,
    positionWaitMs: values.POSITION_WAIT_MS,
    ownWritesWaitMs: values.OWN_WRITES_WAIT_MS,
    shutdownGraceMs: values.SHUTDOWN_GRACE_MS,
  };
}

function operatorsFileOf(
  given: { readonly OPERATORS_FILE?: string; readonly DATABASE_URL?: string },
  dataDir: string,
): OperatorsFilePath | undefined {
  if (given.OPERATORS_FILE !== undefined)
    return { path: resolve(given.OPERATORS_FILE), mayBeMissing: false };
  if (given.DATABASE_URL !== undefined) return undefined;
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
