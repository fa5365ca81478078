import { accessSync, constants } from 'node:fs';
import { resolve } from 'node:path';

/**
 * EVENT_STORE_URL is invalid. The message gives the reason without values, which may be secrets.
 */
export class InvalidEventStoreUrl extends Error {
  override readonly name = 'InvalidEventStoreUrl';
}

const DEFAULT_PORT = 2113;
const FORM = /^(esdb|esdb\+discover):\/\/(?:([^/?#]*)@)?([^/?#@]+)\/?(?:\?([^#]*))?$/;
const HOST = /^(?:\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)$/;

/** The client's options; like the client, ignores case, dashes and underscores. */
const OPTIONS = {
  tls: flag,
  /** Absolute paths of PEM files. */
  tlsCAFile: file,
  tlsVerifyCert: only(
    'true',
    'the certificate is always verified; name its authority by tlsCAFile',
  ),
  userCertFile: file,
  userKeyFile: file,
  connectionName: (text: string) => text,
  /** Milliseconds; -1 disables keep-alive. */
  keepAliveInterval: wholeNumber(-1),
  keepAliveTimeout: wholeNumber(-1),
  maxDiscoverAttempts: wholeNumber(1),
  /** Milliseconds between rounds of discovery. */
  discoveryInterval: wholeNumber(0),
  gossipTimeout: wholeNumber(1),
  /** Milliseconds for an append with all retries. */
  defaultDeadline: wholeNumber(1),
  nodePreference: only('leader', 'appends, and the reads that decide, go to the leader'),
  throwOnAppendFailure: only('true', 'a refused append must be distinguishable from a stored one'),
};
const known = new Map(
  Object.entries(OPTIONS).map(([name, parse]) => [flat(name), { name, parse }]),
);

type Options = {
  readonly [Name in keyof typeof OPTIONS]?: ReturnType<(typeof OPTIONS)[Name]>;
};

/** The parsed EVENT_STORE_URL. Contains a password: never log it. */
export interface EventStoreAddress extends Options {
  /**
   * `esdb+discover`: the host is a DNS name of the cluster. With discovery or several hosts, gossip
   * finds the leader.
   */
  readonly discover: boolean;
  readonly hosts: readonly { readonly address: string; readonly port: number }[];
  readonly credentials: { readonly username: string; readonly password: string } | undefined;
  readonly tls: boolean;
}

/**
 * Parses `esdb://user:password@host:port,host:port?option=value`. Rejects what the client would
 * ignore or misread: unknown or unsupported options, and missing files.
 * @throws {InvalidEventStoreUrl}
 */
export function parseEventStoreUrl(url: string): EventStoreAddress {
  const [, protocol, user, hostList = '', query] = FORM.exec(url.trim()) ?? [];
  if (protocol === undefined) {
    throw new InvalidEventStoreUrl(
      'must be an EventStoreDB address: esdb://user:password@host:2113 or esdb+discover://…, with options behind ?',
    );
  }
  const options = { tls: true, ...parseOptions(query ?? '') };
  const hosts = hostList.split(',').map(parseHost);
  const discover = protocol === 'esdb+discover';
  if (discover && hosts.length > 1)
    throw new InvalidEventStoreUrl(
      'names several hosts behind esdb+discover://, which takes one DNS name',
    );
  const { tls, tlsCAFile, userCertFile, userKeyFile } = options;
  if ((userCertFile === undefined) !== (userKeyFile === undefined)) {
    throw new InvalidEventStoreUrl('names one of userCertFile and userKeyFile: both are needed');
  }
  if (!tls && (tlsCAFile ?? userCertFile) !== undefined)
    throw new InvalidEventStoreUrl('names certificates although it says tls=false');
  return { ...options, discover, hosts, credentials: parseUser(user) };
}

function flat(name: string): string {
  return name.trim().toLowerCase().replace(/[_-]/g, '');
}

function parseOptions(query: string): Options {
  const options = new Map<string, unknown>();
  for (const pair of query.split('&').filter((text) => text !== '')) {
    const [given = '', ...rest] = pair.split('=');
    const option = known.get(flat(given));
    // Only a plain word is shown: the text after a stray & may belong to a password.
    if (option === undefined)
      throw new InvalidEventStoreUrl(
        `has an unknown option${/^[A-Za-z_-]{1,40}$/.test(given) ? ` ${given}` : ''}; known are ${Object.keys(OPTIONS).join(', ')}`,
      );
    const { name, parse } = option;
    if (options.has(name)) throw new InvalidEventStoreUrl(`says ${name} twice`);
    const value = decode(rest.join('=').trim());
    if (value === '') throw new InvalidEventStoreUrl(`has no value for ${name}`);
    options.set(name, parse(value, name));
  }
  return Object.fromEntries(options);
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

function flag(text: string, name: string): boolean {
  if (text !== 'true' && text !== 'false')
    throw new InvalidEventStoreUrl(`must say true or false for ${name}`);
  return text === 'true';
}

function only(value: string, because: string) {
  return (text: string, name: string): undefined => {
    if (flat(text) !== value)
      throw new InvalidEventStoreUrl(`can only say ${name}=${value}: ${because}`);
  };
}

function wholeNumber(min: number) {
  return (text: string, name: string): number => {
    if (!/^-?\d{1,9}$/.test(text) || Number(text) < min)
      throw new InvalidEventStoreUrl(`must have a whole number from ${min} on for ${name}`);
    return Number(text);
  };
}

function file(text: string, name: string): string {
  const path = resolve(text);
  try {
    accessSync(path, constants.R_OK);
  } catch {
    throw new InvalidEventStoreUrl(`names a ${name} that does not exist or cannot be read`);
  }
  return path;
}
