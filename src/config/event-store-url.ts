import { accessSync, constants } from 'node:fs';
import { isAbsolute, resolve } from 'node:path';

/**
 * The address and options of EventStoreDB: EVENT_STORE_URL, parsed. Contains a password: never log
 * it.
 */
export interface EventStoreAddress {
  /**
   * `esdb+discover`: the one host is a DNS name of the cluster. With several hosts, or with
   * discovery, gossip says who leads.
   */
  readonly discover: boolean;
  readonly hosts: readonly { readonly address: string; readonly port: number }[];
  readonly credentials: { readonly username: string; readonly password: string } | undefined;
  readonly tls: boolean;
  /** Absolute paths of PEM files. */
  readonly tlsCaFile: string | undefined;
  readonly userCertFile: string | undefined;
  readonly userKeyFile: string | undefined;
  readonly connectionName: string | undefined;
  /** Milliseconds; -1 switches keep-alive off. */
  readonly keepAliveInterval: number | undefined;
  readonly keepAliveTimeout: number | undefined;
  readonly maxDiscoverAttempts: number | undefined;
  /** Milliseconds between two rounds of discovery. */
  readonly discoveryInterval: number | undefined;
  /** Seconds. */
  readonly gossipTimeout: number | undefined;
  /** Milliseconds: how long an append may take, all tries together. */
  readonly defaultDeadline: number | undefined;
}

/**
 * EVENT_STORE_URL cannot be used; the message says why and quotes no value, which may be a secret.
 */
export class InvalidEventStoreUrl extends Error {
  override readonly name = 'InvalidEventStoreUrl';
}

const DEFAULT_PORT = 2113;
const FORM = /^(esdb|esdb\+discover):\/\/(?:([^/?#]*)@)?([^/?#@]+)\/?(?:\?([^#]*))?$/;
const HOST = /^(?:\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)$/;

/** Options are the client's own, compared as it does: without case, dashes and underscores. */
const OPTIONS = [
  'tls',
  'tlsCAFile',
  'tlsVerifyCert',
  'userCertFile',
  'userKeyFile',
  'connectionName',
  'keepAliveInterval',
  'keepAliveTimeout',
  'maxDiscoverAttempts',
  'discoveryInterval',
  'gossipTimeout',
  'defaultDeadline',
  'nodePreference',
  'throwOnAppendFailure',
] as const;
type Option = (typeof OPTIONS)[number];
const known = new Map<string, Option>(OPTIONS.map((name) => [flat(name), name]));

/**
 * Parses `esdb://user:password@host:port,host:port?option=value`. Refuses what the client would
 * ignore or misread: an unknown option, a missing file, an option that this service cannot support.
 * @throws {InvalidEventStoreUrl}
 */
export function parseEventStoreUrl(url: string): EventStoreAddress {
  const [, protocol, user, hostList = '', query] = FORM.exec(url.trim()) ?? [];
  if (protocol === undefined) {
    throw new InvalidEventStoreUrl(
      'must be an EventStoreDB address: esdb://user:password@host:2113 or esdb+discover://…, with options behind ?',
    );
  }
  const options = parseOptions(query ?? '');
  const tls = flag(options, 'tls', true);
  const hosts = hostList.split(',').map(parseHost);
  if (protocol === 'esdb+discover' && hosts.length > 1)
    throw new InvalidEventStoreUrl(
      'names several hosts behind esdb+discover://, which takes one DNS name',
    );
  demand(
    options,
    'tlsVerifyCert',
    'true',
    'the certificate is always verified; name its authority by tlsCAFile',
  );
  demand(
    options,
    'throwOnAppendFailure',
    'true',
    'a refused append must be distinguishable from a stored one',
  );
  demand(
    options,
    'nodePreference',
    'leader',
    'appends, and the reads that decide, go to the leader',
  );
  const userCertFile = file(options, 'userCertFile');
  const userKeyFile = file(options, 'userKeyFile');
  if ((userCertFile === undefined) !== (userKeyFile === undefined)) {
    throw new InvalidEventStoreUrl('names one of userCertFile and userKeyFile: both are needed');
  }
  const tlsCaFile = file(options, 'tlsCAFile');
  if (!tls && (tlsCaFile ?? userCertFile) !== undefined)
    throw new InvalidEventStoreUrl('names certificates although it says tls=false');
  return {
    discover: protocol === 'esdb+discover',
    hosts,
    credentials: parseUser(user),
    tls,
    tlsCaFile,
    userCertFile,
    userKeyFile,
    connectionName: options.get('connectionName'),
    keepAliveInterval: number(options, 'keepAliveInterval', -1),
    keepAliveTimeout: number(options, 'keepAliveTimeout', -1),
    maxDiscoverAttempts: number(options, 'maxDiscoverAttempts', 1),
    discoveryInterval: number(options, 'discoveryInterval', 0),
    gossipTimeout: number(options, 'gossipTimeout', 1),
    defaultDeadline: number(options, 'defaultDeadline', 1),
  };
}

function flat(name: string): string {
  return name.trim().toLowerCase().replace(/[_-]/g, '');
}

function parseOptions(query: string): ReadonlyMap<Option, string> {
  const options = new Map<Option, string>();
  for (const pair of query.split('&').filter((text) => text !== '')) {
    const [name = '', ...rest] = pair.split('=');
    const option = known.get(flat(name));
    // The name is shown only when it is a plain word: a password with a stray & must not appear
    // here.
    if (option === undefined)
      throw new InvalidEventStoreUrl(
        `has an unknown option${/^[A-Za-z_-]{1,40}$/.test(name) ? ` ${name}` : ''}; known are ${OPTIONS.join(', ')}`,
      );
    if (options.has(option)) throw new InvalidEventStoreUrl(`says ${option} twice`);
    const value = decode(rest.join('=').trim());
    if (value === '') throw new InvalidEventStoreUrl(`has no value for ${option}`);
    options.set(option, value);
  }
  return options;
}

function parseHost(text: string): { address: string; port: number } {
  const [, address = '', port] = /^(\[[^\]]*\]|[^:]*)(?::(\d{1,5}))?$/.exec(text.trim()) ?? [];
  const number = port === undefined ? DEFAULT_PORT : Number(port);
  if (!HOST.test(address) || number < 1 || number > 65_535)
    throw new InvalidEventStoreUrl('has an invalid host: host or host:port, several with commas');
  return { address, port: number };
}

function parseUser(user: string | undefined): EventStoreAddress['credentials'] {
  if (user === undefined) return undefined;
  const [username = '', password = '', ...rest] = user.split(':');
  if (username === '' || password === '' || rest.length > 0) {
    throw new InvalidEventStoreUrl(
      'has an invalid user: user:password, with : @ / ? # and % in them percent-encoded',
    );
  }
  return { username: decode(username), password: decode(password) };
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw new InvalidEventStoreUrl('has a % that begins no percent-encoded character');
  }
}

function flag(options: ReadonlyMap<Option, string>, name: Option, fallback: boolean): boolean {
  const value = options.get(name) ?? String(fallback);
  if (value !== 'true' && value !== 'false')
    throw new InvalidEventStoreUrl(`must say true or false for ${name}`);
  return value === 'true';
}

function demand(
  options: ReadonlyMap<Option, string>,
  name: Option,
  only: string,
  because: string,
): void {
  const value = options.get(name);
  if (value !== undefined && flat(value) !== only)
    throw new InvalidEventStoreUrl(`can only say ${name}=${only}: ${because}`);
}

function number(
  options: ReadonlyMap<Option, string>,
  name: Option,
  min: number,
): number | undefined {
  const value = options.get(name);
  if (value === undefined) return undefined;
  if (!/^-?\d{1,9}$/.test(value) || Number(value) < min)
    throw new InvalidEventStoreUrl(`must have a whole number from ${min} on for ${name}`);
  return Number(value);
}

function file(options: ReadonlyMap<Option, string>, name: Option): string | undefined {
  const value = options.get(name);
  if (value === undefined) return undefined;
  const path = isAbsolute(value) ? value : resolve(value);
  try {
    accessSync(path, constants.R_OK);
  } catch {
    throw new InvalidEventStoreUrl(`names a ${name} that does not exist or cannot be read`);
  }
  return path;
}
