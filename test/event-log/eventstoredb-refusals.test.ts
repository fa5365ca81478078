import { randomUUID } from 'node:crypto';
import { inspect } from 'node:util';
import {
  EventLogUnavailable,
  LogOlderThanBaseline,
  type EventLog,
} from '../../src/event-log/event-log.js';
import { EventStoreDbWire } from '../../src/event-log/eventstoredb/eventstoredb-wire.js';
import { eventually } from '../support/embedded.js';
import {
  startEventStoreDbDouble,
  type DoubleOptions,
  type EventStoreDbDouble,
} from '../harness/eventstoredb-double/double.js';
import { selfSignedCertificate } from '../harness/self-signed.js';
import {
  appended,
  collect,
  LogsOfATest,
  newEvent,
  startTail,
} from './support/faulty-event-store.js';
import { openOnce } from '../support/opened.js';

/** The stream that says which log the store has, in the namespace `ours`. */
const IDENTITY = 'ours-log';

/** For calls whose refusal is awaited for the whole time limit. */
const REFUSED_SOON = { readTimeoutMs: 2_000, appendTimeoutMs: 2_000 };

const certificate = openOnce(selfSignedCertificate, 'remove');

let doubles: EventStoreDbDouble[];
let logs: LogsOfATest;
beforeEach(() => {
  doubles = [];
  logs = new LogsOfATest();
});
afterEach(async () => {
  await logs.close();
  for (const double of doubles) await double.stop();
  expect(logs.unhandled).toEqual([]);
});

const start = async (options: DoubleOptions = {}): Promise<EventStoreDbDouble> => {
  const double = await startEventStoreDbDouble(options);
  doubles.push(double);
  return double;
};
const secured = (): Promise<EventStoreDbDouble> =>
  start({ tls: { cert: certificate.cert, key: certificate.key }, users: { ledger: 'p:a@ss' } });

it.each([
  ['20.10.2', 'of version 20.10.2'],
  ['unknown', 'older than 21.10'],
])('version %s is too old', async (version, given) => {
  const double = await start();
  const said = jest.spyOn(EventStoreDbWire.prototype, 'serverVersion');
  said.mockResolvedValue(version);
  try {
    const log = logs.open(double.url, REFUSED_SOON);
    const message = `EventStoreDB is ${given}: 21.10 or newer is needed`;
    await expect(log.check()).rejects.toThrow(new EventLogUnavailable(message));
    await expect(log.append('ours-a', 'no-stream', [newEvent()])).rejects.toThrow(message);
    expect(double.store.streamNames()).toEqual(['$users']);
  } finally {
    said.mockRestore();
  }
});

it('the log of another ledger is not read and not written', async () => {
  const double = await start();
  await appended(
    logs.open(double.url, { owner: 'another' }).append('ours-a', 'no-stream', [newEvent()]),
  );
  const size = double.store.size;
  const log = logs.open(double.url, { ...REFUSED_SOON, owner: 'owner' });
  const message =
    'EventStoreDB holds the log of another ledger, made with another master key: set its key file, or another store';
  await expect(log.check()).rejects.toThrow(new EventLogUnavailable(message));
  await expect(log.readAll(undefined, 10)).rejects.toThrow(message);
  await expect(log.append('ours-a', 0n, [newEvent()])).rejects.toThrow(message);
  expect(double.store.size).toBe(size);
});

it.each([
  ['other JSON', '{"$maxAge":60}'],
  ['no id', '{"ledger":{"id":"one","owner":"owner"}}'],
])('foreign metadata of the identity stream (%s) are left unchanged', async (_name, data) => {
  const double = await start();
  double.storedBehindTheBack(`$$${IDENTITY}`, [{ type: '$metadata', data }]);
  const size = double.store.size;
  const log = logs.open(double.url);
  await expect(log.check()).rejects.toThrow(
    new EventLogUnavailable(
      `the metadata of ${IDENTITY} in EventStoreDB are not of this service: use a store without it`,
    ),
  );
  expect(double.store.size).toBe(size);
});

it('another log than before at the same address is refused', async () => {
  const double = await start();
  const log = logs.open(double.url);
  await appended(log.append('ours-a', 'no-stream', [newEvent()]));
  double.storedBehindTheBack(`$$${IDENTITY}`, [
    { type: '$metadata', data: { ledger: { id: randomUUID(), owner: 'owner', baseline: 1 } } },
  ]);
  double.faults.next('not-ready', 1, { methods: ['read'] });
  await expect(log.readAll(undefined, 10)).rejects.toThrow(EventLogUnavailable);
  await expect(log.readAll(undefined, 10)).rejects.toThrow(
    /^EVENT_STORE_URL leads to another log than before/,
  );
});

it('the log of a development build from before the first release is not read and not written', async () => {
  const double = await start();
  double.storedBehindTheBack(`$$${IDENTITY}`, [
    { type: '$metadata', data: { ledger: { id: randomUUID(), owner: 'owner' } } },
  ]);
  const size = double.store.size;
  const log = logs.open(double.url, REFUSED_SOON);
  await expect(log.check()).rejects.toThrow(LogOlderThanBaseline);
  await expect(log.append('ours-a', 'no-stream', [newEvent()])).rejects.toThrow(
    /development build from before the first release.*set another store in EVENT_STORE_URL/,
  );
  expect(double.store.size).toBe(size);
});

it('several processes on a new store at the same time agree on its identity', async () => {
  const double = await start();
  const ids = await Promise.all(
    Array.from({ length: 8 }, () =>
      logs.open(double.url, { readTimeoutMs: 5_000, appendTimeoutMs: 5_000 }).id(),
    ),
  );
  expect(new Set(ids).size).toBe(1);
});

const at = (double: EventStoreDbDouble, user: string, options: string): string =>
  `esdb://${user}127.0.0.1:${double.port}?${options}`;
const trusting = (): string => `tls=true&tlsCAFile=${encodeURIComponent(certificate.certFile)}`;

it('credentials and certificates from the URL are used for every call', async () => {
  const double = await secured();
  const log = logs.open(at(double, 'ledger:p%3Aa%40ss@', trusting()));
  await appended(log.append('ours-a', 'no-stream', [newEvent()]));
  expect(await log.readAll(undefined, 10)).toHaveLength(1);
  const authorization = `Basic ${Buffer.from('ledger:p:a@ss').toString('base64')}`;
  expect(double.requests.filter(({ headers }) => headers.authorization !== authorization)).toEqual(
    double.requests.filter(({ method }) => method === 'supportedMethods'),
  );
});

const REFUSES_USER =
  'EventStoreDB refuses the user or the password in EVENT_STORE_URL, or the user may not read and write here';
const UNTRUSTED =
  'the certificate of EventStoreDB is not trusted: name its authority by tlsCAFile in EVENT_STORE_URL';
const PLAIN = 'EventStoreDB answers without TLS: EVENT_STORE_URL lacks ?tls=false';

const SPEAKS_TLS = 'speaks TLS: remove tls=false from EVENT_STORE_URL';

it.each<[string, string, () => string, () => Promise<EventStoreDbDouble>, string]>([
  ['a wrong password', 'ledger:qzxwv@', trusting, secured, REFUSES_USER],
  ['a certificate that is not trusted', 'ledger:qzxwv@', () => 'tls=true', secured, UNTRUSTED],
  ['a server without TLS, addressed with it', 'ledger:qzxwv@', () => 'tls=true', start, PLAIN],
  ['a server with TLS, addressed without it', '', () => 'tls=false', secured, SPEAKS_TLS],
  [
    'a cluster with TLS, addressed without it',
    'CLUSTER',
    () => 'tls=false&maxDiscoverAttempts=1',
    secured,
    SPEAKS_TLS,
  ],
])(
  '%s is named by appends, reads and the health check, without a secret',
  async (_name, user, options, store, message) => {
    const double = await store();
    const node = `127.0.0.1:${double.port}`;
    const url =
      user === 'CLUSTER' ? `esdb://${node},${node}?${options()}` : at(double, user, options());
    const log = logs.open(url, { appendTimeoutMs: 800 });
    const tail = startTail(log);
    const errors = [
      await failureOf(log.check()),
      await failureOf(log.readAll(undefined, 10)),
      await failureOf(log.id()),
    ];
    const said = message === SPEAKS_TLS ? `EventStoreDB at ${node} ${message}` : message;
    for (const error of errors) expect(error).toEqual(new EventLogUnavailable(said));
    errors.push(await failureOf(log.append('ours-a', 'no-stream', [newEvent('"qzxwv"')])));
    await tail.stop();
    expect(errors.at(-1)).toBeInstanceOf(EventLogUnavailable);
    errors.forEach(expectDiscreet);
  },
);

/** A server's message may quote the call. */
const quote = `: ours-qzxwv "qzxwv" ${Buffer.from('ledger:p:a@ss').toString('base64')} p:a@ss`;
const CALLS = {
  append: (log) =>
    log.append('ours-qzxwv', 'no-stream', [{ ...newEvent('"qzxwv"'), metadata: '{"qzxwv":1}' }]),
  readStream: (log) => collect(log.readStream('ours-qzxwv')),
  readAll: (log) => log.readAll(undefined, 10),
  check: (log) => log.check(),
} satisfies Record<string, (log: EventLog) => Promise<unknown>>;
type Call = keyof typeof CALLS;
const ALL: readonly Call[] = ['append', 'readStream', 'readAll', 'check'];

it.each<[string, readonly Call[], (double: EventStoreDbDouble) => void]>([
  ['is refused', ALL, ({ faults }) => faults.set('not-ready', { quote })],
  ['is cut', ALL, ({ faults }) => faults.set('connection-cut')],
  [
    'gets no answer',
    ALL,
    ({ faults }) => faults.next('hung', 100, { methods: ['append', 'read'] }),
  ],
  [
    'is refused for its size',
    ['append'],
    ({ faults }) => faults.set('append-too-large', { quote }),
  ],
  [
    'is of a deleted stream',
    ['append', 'readStream'],
    ({ store }) => void store.tombstone('ours-qzxwv'),
  ],
  ['meets a store that is gone', ALL, (double) => void double.kill()],
])(
  'an error that shows neither the payload nor the password ends each call that %s',
  async (_name, calls, strike) => {
    const double = await secured();
    const url = `esdb://ledger:p%3Aa%40ss@127.0.0.1:${double.port}?tlsCAFile=${encodeURIComponent(certificate.certFile)}`;
    // Each call has a connection of its own, which no other one has found unusable.
    const opened = calls.map((call) => {
      const log = logs.open(url, { appendTimeoutMs: 800, readTimeoutMs: 400 });
      return { log, call: CALLS[call] };
    });
    for (const { log } of opened) await eventually(async () => (await log.check()) !== undefined);
    strike(double);
    for (const { log, call } of opened) expectDiscreet(await failureOf(call(log)));
  },
);

async function failureOf(call: Promise<unknown>): Promise<unknown> {
  return call.then(
    () => {
      throw new Error('it did not fail');
    },
    (error: unknown) => error,
  );
}

/** Looked at in every way that a log or a debugger does. */
function expectDiscreet(error: unknown): void {
  if (!(error instanceof Error)) throw new Error('not an error');
  const shown = [
    inspect(error, { depth: 10, showHidden: true }),
    JSON.stringify(error, Object.getOwnPropertyNames(error)),
    error.stack,
    String(error),
  ];
  const passwords = ['p:a@ss', 'p%3Aa%40ss'];
  const headers = [...passwords, 'qzxwv'].map((password) =>
    Buffer.from(`ledger:${password}`).toString('base64'),
  );
  for (const text of shown)
    for (const secret of ['qzxwv', ...passwords, ...headers]) expect(text).not.toContain(secret);
}
