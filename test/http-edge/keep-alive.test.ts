import { Agent, request, type IncomingMessage } from 'node:http';
import { API, LIVE, useSampleApp } from './sample-app.js';

const service = useSampleApp();

interface Sent {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  /** Headers first, and the body when they have gone out. */
  readonly later?: boolean;
}

interface Got {
  readonly status: number | undefined;
  readonly connection: string | undefined;
  readonly port: number | undefined;
}

async function call(agent: Agent, path: string, sent: Sent = {}): Promise<Got> {
  const { method = 'GET', headers = {}, body, later = false } = sent;
  const answer = await new Promise<IncomingMessage>((resolve, reject) => {
    const outgoing = request(service.origin + path, { method, agent, headers }, resolve);
    outgoing.once('error', reject);
    if (!later || body === undefined) return void outgoing.end(body);
    outgoing.flushHeaders();
    setTimeout(() => outgoing.end(body), 5);
  });
  const port = answer.socket.localPort;
  answer.resume();
  await new Promise((resolve) => answer.once('end', resolve));
  return { status: answer.statusCode, connection: answer.headers.connection, port };
}

const JSON_TYPE = { 'content-type': 'application/json' };

const KEPT: readonly (readonly [string, number, string, Sent])[] = [
  ['an unknown path', 404, '/nowhere', {}],
  ['an unknown path with a body', 404, '/nowhere', { method: 'POST', body: '{"a":1}' }],
  ['a method that is not there', 405, `${API}/echo`, { method: 'PUT', body: '{}' }],
  ['missing credentials with a body', 401, `${API}/echo`, { method: 'POST', body: '{"a":1}' }],
  ['a body that comes late', 401, `${API}/echo`, { method: 'POST', body: '{"a":1}', later: true }],
  [
    'a body that is no JSON',
    400,
    `${API}/echo`,
    { method: 'POST', headers: { ...LIVE, ...JSON_TYPE }, body: '{' },
  ],
  [
    'a media type that is not read',
    415,
    `${API}/echo`,
    { method: 'POST', headers: { ...LIVE, 'content-type': 'text/csv' }, body: 'a,b' },
  ],
  ['an answer', 200, `${API}/list`, { headers: LIVE }],
];

test.each(KEPT)('%s (%i) keeps the connection', async (_name, status, path, sent) => {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const got = [];
  for (let call_ = 0; call_ < 3; call_++) got.push(await call(agent, path, sent));
  agent.destroy();
  expect(new Set(got.map((one) => one.status))).toEqual(new Set([status]));
  expect(new Set(got.map((one) => one.connection))).toEqual(new Set(['keep-alive']));
  expect(new Set(got.map((one) => one.port)).size).toBe(1);
});

test('a client that requests to close the connection gets that answer, errors included', async () => {
  for (const [, status, path, sent] of KEPT) {
    const agent = new Agent({ keepAlive: false });
    const headers = { ...sent.headers, connection: 'close' };
    expect(await call(agent, path, { ...sent, headers })).toMatchObject({
      status,
      connection: 'close',
    });
  }
});
