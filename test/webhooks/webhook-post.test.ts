// Over 5 s: answers that do not end are waited for, each for its time.
import { EndpointGuard } from '../../src/webhooks/sending/endpoint-guard.js';
import { findAddressesFrom } from '../../src/webhooks/sending/find-addresses.js';
import { WebhookPost, type PostResult } from '../../src/webhooks/sending/webhook-post.js';
import { startWebhookReceiver, type Behaviour } from '../support/webhook-receiver.js';
import { startNameServer } from './support/name-server.js';
import { openOnce } from '../support/opened.js';

const names = openOnce(startNameServer, 'close');
const receiver = openOnce(() => startWebhookReceiver({ tls: true }), 'stop');
const senders: WebhookPost[] = [];

beforeAll(async () => {
  names.set('receiver.test', ['127.0.0.1']);
  names.set('other-name.test', ['127.0.0.1']);
  names.set('silent.test', 'silence');
});

afterEach(async () => {
  await Promise.all(senders.splice(0).map((sender) => sender.close()));
});

type Limits = NonNullable<ConstructorParameters<typeof WebhookPost>[1]>;

function senderWith(limits: Limits = {}): WebhookPost {
  const guard = new EndpointGuard({
    allowed: [{ address: '127.0.0.1', prefix: 32, family: 'ipv4' }],
    lookup: findAddressesFrom({ servers: [names.address], hostsFile: '/nowhere' }),
  });
  const sender = new WebhookPost(guard, { trusted: receiver.certificate, ...limits });
  senders.push(sender);
  return sender;
}

const body = Buffer.from('{"id":"1","text":"grüße"}');
const post = (url: string, limits?: Limits, signal?: AbortSignal): Promise<PostResult> =>
  senderWith(limits).post({ url, headers: { 'content-type': 'application/json' }, body }, signal);

/** What came of it, without its duration. */
const outcome = (posted: PostResult): string | number =>
  posted.kind === 'failed' ? posted.reason : posted.status;

let paths = 0;
/** The path of a receiver that behaves so. */
function pathFor(...behaviours: readonly Behaviour[]): string {
  const path = `/path-${(paths += 1)}`;
  receiver.behave(path, ...behaviours);
  return path;
}

it('a request arrives as it was given, with and without TLS', async () => {
  for (const url of [receiver.url('/plain?a=1&b=%20'), receiver.tlsUrl('/tls?a=1')])
    expect(await post(url)).toMatchObject({ kind: 'answered', status: 200, retryAfterMs: null });
  await receiver.until((all) => all.length >= 2);
  const [plain, encrypted] = receiver.received;
  expect(plain).toMatchObject({ method: 'POST', url: '/plain?a=1&b=%20', tls: false, body });
  expect(encrypted).toMatchObject({ method: 'POST', url: '/tls?a=1', tls: true, body });
  expect(plain?.headers).toEqual({
    host: `127.0.0.1:${receiver.port}`,
    connection: 'keep-alive',
    'content-type': 'application/json',
    'content-length': String(body.length),
  });
});

test('no proxy of the environment is used', async () => {
  for (const name of ['http_proxy', 'HTTP_PROXY', 'ALL_PROXY'])
    process.env[name] = receiver.url('/');
  expect(outcome(await post('http://10.0.0.1/hook'))).toBe('address-not-allowed');
  expect(outcome(await post(receiver.url('/direct')))).toBe(200);
  const [request] = await receiver.requests('/direct');
  expect(request?.url).toBe('/direct');
});

it('an answer is returned with its status, whatever it is, and its beginning', async () => {
  for (const status of [200, 201, 204, 299, 301, 302, 308, 400, 410, 429, 500, 503]) {
    const path = pathFor({
      kind: 'answer',
      status,
      headers: { location: receiver.url('/followed') },
      body: status === 204 ? '' : `${'ä'.repeat(450)}${'x'.repeat(10_000)}`,
    });
    const posted = await post(receiver.url(path));
    expect(posted).toMatchObject({ kind: 'answered', status });
    if (posted.kind === 'answered')
      expect(posted.beginning.toString()).toBe(
        status === 204 ? '' : `${'ä'.repeat(450)}${'x'.repeat(1_148)}`,
      );
  }
  expect(receiver.receivedAt('/followed')).toEqual([]);
});

it.each([
  ['120', 120_000],
  ['soon', null],
])('an answer with Retry-After %j asks for a pause of %s ms', async (value, expected) => {
  const path = pathFor({ kind: 'answer', status: 503, headers: { 'retry-after': value } });
  expect(await post(receiver.url(path))).toMatchObject({ retryAfterMs: expected });
});

it('an answer of which more than 64 KiB come is cut off, and counts by its status', async () => {
  for (const status of [200, 500]) {
    const path = pathFor({ kind: 'flood', status });
    const floods = receiver.flooded.length;
    const before = process.memoryUsage();
    const posted = await post(receiver.tlsUrl(path));
    expect(posted).toMatchObject({ kind: 'answered', status });
    if (posted.kind === 'answered') expect(posted.beginning.length).toBe(2_048);
    await receiver.until(() => receiver.flooded.length > floods);
    // What lies in the buffers of both sockets, of 1 GB.
    expect(receiver.flooded.at(-1)).toBeLessThan(50_000_000);
    const grown = process.memoryUsage();
    expect(grown.external - before.external).toBeLessThan(50_000_000);
    expect(grown.heapUsed - before.heapUsed).toBeLessThan(200_000_000);
  }
});

it('an answer of a redirect or a failure counts by its status, also when it does not end', async () => {
  for (const status of [302, 410]) {
    const broken = pathFor({ kind: 'break-off', when: 'in-body', status });
    expect(outcome(await post(receiver.url(broken)))).toBe(status);
  }
  const hanging = pathFor({ kind: 'hang-in-body', status: 429 });
  expect(outcome(await post(receiver.url(hanging), { withinMs: 300 }))).toBe(429);
});

const endless: readonly (readonly [string, Behaviour])[] = [
  ['that never begins', { kind: 'hang' }],
  ['that stops in its body', { kind: 'hang-in-body' }],
  ['whose body trickles', { kind: 'trickle', everyMs: 5 }],
  ['whose headers trickle', { kind: 'trickle-headers', everyMs: 5 }],
];

it.each(endless)(
  'an answer that does not end in time is a failed attempt: one %s',
  async (_, behaviour) => {
    const path = pathFor(behaviour);
    const posted = await post(receiver.url(path), { withinMs: 300 });
    expect(posted).toMatchObject({ kind: 'failed', reason: 'timeout' });
    expect(posted.ms).toBeGreaterThanOrEqual(299);
  },
);

it('an answer that does not end in time is a failed attempt, that of the name server included', async () => {
  const silent = await post('http://silent.test/hook', { withinMs: 300 });
  expect(silent).toMatchObject({ kind: 'failed', reason: 'timeout' });
});

it('an answer that does not end in time is a failed attempt, and its connection is closed', async () => {
  const path = pathFor({ kind: 'hang' }, { kind: 'answer' });
  const sender = senderWith({ withinMs: 300 });
  const request = { url: receiver.url(path), headers: {}, body };
  expect(outcome(await sender.post(request))).toBe('timeout');
  expect(outcome(await sender.post(request))).toBe(200);
  const [first, second] = await receiver.requests(path, 2);
  expect(second?.connection).not.toBe(first?.connection);
});

const broken: readonly (readonly [string, Behaviour, string])[] = [
  ['that breaks off before its headers', { kind: 'break-off' }, 'broken-off'],
  ['that breaks off in its headers', { kind: 'break-off', when: 'in-headers' }, 'broken-off'],
  ['that breaks off in its body', { kind: 'break-off', when: 'in-body' }, 'broken-off'],
  ['that is not HTTP', { kind: 'not-http' }, 'not-http'],
  ['with headers without end', { kind: 'endless-headers' }, 'not-http'],
];

it.each(broken)('a broken answer is a failed attempt: one %s', async (_, behaviour, reason) => {
  const path = pathFor(behaviour);
  expect(outcome(await post(receiver.url(path)))).toBe(reason);
  expect(outcome(await post(receiver.tlsUrl(path)))).toBe(reason);
});

it('a broken answer is a failed attempt: one that breaks the encryption', async () => {
  const path = pathFor({ kind: 'break-tls' });
  // Which of the two depends on what Node notices first.
  expect(outcome(await post(receiver.tlsUrl(path)))).toMatch(/^(tls|broken-off)$/);
});

it('a broken answer is a failed attempt: one of a server that speaks no TLS', async () => {
  const plain = receiver.url('/plain').replace('http:', 'https:');
  expect(outcome(await post(plain))).toBe('tls');
});

describe('a server that is not trusted gets no request', () => {
  it('with a certificate of its own making', async () => {
    const url = receiver.tlsUrl('/untrusted');
    expect(outcome(await post(url, { trusted: undefined }))).toBe('tls');
  });

  it('with a certificate of another name', async () => {
    const port = new URL(receiver.tlsUrl('/')).port;
    expect(outcome(await post(`https://other-name.test:${port}/untrusted`))).toBe('tls');
    expect(outcome(await post(`https://receiver.test:${port}/trusted`))).toBe(200);
  });

  afterAll(() => expect(receiver.receivedAt('/untrusted')).toEqual([]));
});

it('a port without a listener is refused', async () => {
  const gone = await startWebhookReceiver();
  await gone.stop();
  expect(outcome(await post(gone.url('/hook')))).toBe('refused');
});

it('the caller ends an attempt, before and while it runs', async () => {
  const path = pathFor({ kind: 'hang' });
  const stopping = new AbortController();
  const posting = post(receiver.url(path), {}, stopping.signal);
  await receiver.requests(path);
  stopping.abort();
  expect(outcome(await posting)).toBe('stopped');
  expect(outcome(await post(receiver.url(path), {}, stopping.signal))).toBe('stopped');
  expect(receiver.receivedAt(path).length).toBe(1);
});

it('the caller that closes the sender waits for what is under way', async () => {
  const path = pathFor({ kind: 'hang' });
  const sender = senderWith({ withinMs: 500 });
  let isClosed = false;
  const posting = sender.post({ url: receiver.url(path), headers: {}, body });
  await receiver.requests(path);
  const closing = sender.close().then(() => (isClosed = true));
  expect(isClosed).toBe(false);
  expect(outcome(await posting)).toBe('timeout');
  await closing;
});
