import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inspect } from 'node:util';
import {
  InvalidEventStoreUrl,
  parseEventStoreUrl,
  type EventStoreAddress,
} from '../../src/config/event-store-url.js';

const folder = mkdtempSync(join(tmpdir(), 'event-store-url-'));
const pem = join(folder, 'ca file.pem');
writeFileSync(pem, 'a certificate');
afterAll(() => rmSync(folder, { recursive: true }));

const PLAIN: EventStoreAddress = {
  discover: false,
  hosts: [{ address: 'store', port: 2113 }],
  credentials: undefined,
  tls: true,
};

it.each<[string, Partial<EventStoreAddress>]>([
  ['esdb://store', {}],
  ['esdb://store?&tls=true&', {}],
  ['esdb://store?tls=false', { tls: false }],
  ['esdb://store:1', { hosts: [{ address: 'store', port: 1 }] }],
  ['esdb://127.0.0.1:65535', { hosts: [{ address: '127.0.0.1', port: 65_535 }] }],
  ['esdb://[::1]:2113', { hosts: [{ address: '[::1]', port: 2113 }] }],
  [
    'esdb://a,b:7,c',
    {
      hosts: [
        { address: 'a', port: 2113 },
        { address: 'b', port: 7 },
        { address: 'c', port: 2113 },
      ],
    },
  ],
  ['esdb+discover://store', { discover: true }],
  ['esdb://me:secret@store', { credentials: { username: 'me', password: 'secret' } }],
  ['esdb://m%40e:p%3A%2F%3f%23%25@store', { credentials: { username: 'm@e', password: 'p:/?#%' } }],
  [`esdb://store?tlsCAFile=${encodeURIComponent(pem)}`, { tlsCAFile: pem }],
  [`esdb://store?TLS_CA_FILE=${pem}`, { tlsCAFile: pem }],
  [
    `esdb://store?user-cert-file=${pem}&userKeyFile=${pem}`,
    { userCertFile: pem, userKeyFile: pem },
  ],
  ['esdb://store?connectionName=the%20ledger=1', { connectionName: 'the ledger=1' }],
  [
    'esdb://store?keepAliveInterval=-1&keepAliveTimeout=0',
    { keepAliveInterval: -1, keepAliveTimeout: 0 },
  ],
  [
    'esdb://store?maxDiscoverAttempts=1&discoveryInterval=0',
    { maxDiscoverAttempts: 1, discoveryInterval: 0 },
  ],
  [
    'esdb://store?gossipTimeout=3&defaultDeadline=999999999',
    { gossipTimeout: 3, defaultDeadline: 999_999_999 },
  ],
  ['esdb://store?tlsVerifyCert=true&throwOnAppendFailure=true&nodePreference=Leader', {}],
])('%s is understood', (url, expected) => {
  expect(parseEventStoreUrl(url)).toEqual({ ...PLAIN, ...expected });
});

const IS_NONE = /^must be an EventStoreDB address/;
it.each<[string, RegExp]>([
  ['qzxwv', IS_NONE],
  ['http://qzxwv:2113', IS_NONE],
  ['esdb://', IS_NONE],
  ['esdb://a:qzxwv@qzxwv@store/qzxwv', IS_NONE],
  ['esdb://store/qzxwv', IS_NONE],
  ['esdb://qzx wv', /^has an invalid host/],
  ['esdb://store:0', /^has an invalid host/],
  ['esdb://store:65536', /^has an invalid host/],
  ['esdb://[qzxwv]', /^has an invalid host/],
  ['esdb+discover://qzxwv,b', /^names several hosts behind esdb\+discover:\/\//],
  ['esdb://qzxwv@store', /^has an invalid user: user:password/],
  ['esdb://qzxwv:@store', /^has an invalid user/],
  ['esdb://a:qzxwv%@store', /^has a % that begins no percent-encoded character/],
  ['esdb://a:qzxwv%ff@store', /^has a % that begins no percent-encoded character/],
  ['esdb://store?tsl=qzxwv', /^has an unknown option tsl; known are tls, tlsCAFile/],
  ['esdb://store?tls=true&qz7xwv!', /^has an unknown option; known are tls/],
  ['esdb://store?tls=true&TLS=false', /^says tls twice$/],
  ['esdb://store?tls', /^has no value for tls$/],
  ['esdb://store?tls=qzxwv', /^must say true or false for tls$/],
  [
    'esdb://store?tlsVerifyCert=false',
    /^can only say tlsVerifyCert=true: the certificate is always verified; name its authority by tlsCAFile$/,
  ],
  ['esdb://store?throwOnAppendFailure=qzxwv', /^can only say throwOnAppendFailure=true/],
  [
    'esdb://store?nodePreference=qzxwv',
    /^can only say nodePreference=leader: appends, and the reads that decide, go to the leader$/,
  ],
  [
    'esdb://store?tlsCAFile=/nowhere/qzxwv.pem',
    /^names a tlsCAFile that does not exist or cannot be read$/,
  ],
  [
    `esdb://store?userCertFile=${pem}`,
    /^names one of userCertFile and userKeyFile: both are needed$/,
  ],
  [`esdb://store?tls=false&tlsCAFile=${pem}`, /^names certificates although it says tls=false$/],
  [
    'esdb://store?keepAliveInterval=qzxwv',
    /^must have a whole number from -1 on for keepAliveInterval$/,
  ],
  [
    'esdb://store?maxDiscoverAttempts=0',
    /^must have a whole number from 1 on for maxDiscoverAttempts$/,
  ],
  [
    'esdb://store?discoveryInterval=1.5',
    /^must have a whole number from 0 on for discoveryInterval$/,
  ],
  [
    'esdb://store?defaultDeadline=1234567890',
    /^must have a whole number from 1 on for defaultDeadline$/,
  ],
])('%s is refused, and nothing of it is quoted', (url, message) => {
  const error = refusalOf(url);
  expect(error).toBeInstanceOf(InvalidEventStoreUrl);
  expect(error.message).toMatch(message);
  const said = inspect(error, { depth: 10 }) + JSON.stringify(error);
  for (const secret of ['qz', 'xwv', folder, 'nowhere']) expect(said).not.toContain(secret);
});

function refusalOf(url: string): Error {
  try {
    parseEventStoreUrl(url);
  } catch (error) {
    if (error instanceof Error) return error;
  }
  throw new Error('it was not refused');
}
