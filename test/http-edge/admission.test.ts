import { Agent, request as httpRequest } from 'node:http';
import { API, LIVE, startSampleApp, type SampleApp } from './sample-app.js';
import { sendRaw } from '../support/raw-http.js';

const apps: SampleApp[] = [];
afterEach(async () => {
  for (const { app } of apps.splice(0)) await app.close();
});

async function start(limits: Parameters<typeof startSampleApp>[0]): Promise<SampleApp> {
  const started = await startSampleApp(limits);
  apps.push(started);
  return started;
}

function closeGate({ sample }: SampleApp): () => void {
  let open = (): void => undefined;
  sample.gate = new Promise((resolve) => (open = resolve));
  return open;
}

const until = async (condition: () => boolean): Promise<void> => {
  while (!condition()) await new Promise((resolve) => setImmediate(resolve));
};

test('requests over the limit are refused, and health still answers', async () => {
  const started = await start({ inFlightMax: 3 });
  const open = closeGate(started);
  const inside = Array.from({ length: 3 }, () =>
    fetch(`${started.origin}${API}/slow`, { headers: LIVE }),
  );
  await until(() => started.sample.entered.length === 3);
  expect(started.edge.inFlight).toBe(3);

  const outside = await fetch(`${started.origin}${API}/whoami`, { headers: LIVE });
  expect([outside.status, outside.headers.get('retry-after')]).toEqual([503, '1']);
  expect(await outside.json()).toEqual({
    statusCode: 503,
    message: expect.any(String),
    apiErrorCode: 'UNAVAILABLE',
    rsCode: null,
  });
  expect((await fetch(`${started.origin}/health/live`)).status).toBe(200);
  const metrics = await (await fetch(`${started.origin}/metrics`)).text();
  expect(metrics).toMatch(/^http_requests_in_flight 4$/m);

  open();
  expect((await Promise.all(inside)).map(({ status }) => status)).toEqual([200, 200, 200]);
  await until(() => started.edge.inFlight === 0);
  expect((await fetch(`${started.origin}${API}/whoami`, { headers: LIVE })).status).toBe(200);
});

test('requests of clients that left are not counted, pipelined ones included', async () => {
  const started = await start({ inFlightMax: 10 });
  const open = closeGate(started);
  const slow = `GET ${API}/slow HTTP/1.1\r\nHost: x\r\nAuthorization: ${LIVE.authorization}\r\n\r\n`;
  const whoami = slow.replace('/slow', '/whoami');
  const { connect } = await import('node:net');
  const socket = connect(started.port, '127.0.0.1', () => socket.write(slow + whoami + whoami));
  await until(() => started.edge.inFlight === 3);
  socket.destroy();
  await until(() => started.edge.inFlight === 0);
  open();
});

test('work for a client that left learns of it', async () => {
  const started = await start({});
  const request = `GET ${API}/departure HTTP/1.1\r\nHost: x\r\nAuthorization: ${LIVE.authorization}\r\n\r\n`;
  const { connect } = await import('node:net');
  const socket = connect(started.port, '127.0.0.1', () => socket.write(request));
  await until(() => started.sample.entered.includes('waiting for a departure'));
  socket.destroy();
  await until(() => started.sample.entered.includes('departure'));
});

test('a request over its deadline is answered with 503, and its late answer is dropped', async () => {
  const started = await start({ deadlineMs: 100 });
  const open = closeGate(started);
  const late = await fetch(`${started.origin}${API}/slow`, { headers: LIVE });
  expect([late.status, late.headers.get('retry-after'), await late.json()]).toEqual([
    503,
    '1',
    { statusCode: 503, message: expect.any(String), apiErrorCode: 'UNAVAILABLE', rsCode: null },
  ]);
  open();
  await new Promise((resolve) => setImmediate(resolve));
  expect((await fetch(`${started.origin}${API}/whoami`, { headers: LIVE })).status).toBe(200);
  expect(started.logText()).not.toContain('/api/v1/acme');
  // Nothing is wrong: the work goes on behind the answer.
  expect(started.logText()).not.toContain('ALREADY_SENT');
});

test('an answer that is streamed has no deadline, and its rest takes no turn from others', async () => {
  const started = await start({ deadlineMs: 100, atWorkMax: 1, inFlightMax: 8 });
  const open = closeGate(started);
  const streams = await Promise.all(
    [1, 2].map(() => fetch(`${started.origin}${API}/stream`, { headers: LIVE })),
  );
  expect((await fetch(`${started.origin}${API}/whoami`, { headers: LIVE })).status).toBe(200);
  // It began later, and its deadline is over.
  expect((await fetch(`${started.origin}${API}/slow`, { headers: LIVE })).status).toBe(503);
  open();
  expect(await Promise.all(streams.map((answer) => answer.text()))).toEqual([
    'first second',
    'first second',
  ]);
});

test('a body that does not arrive within the deadline is answered with 408', async () => {
  const started = await start({ deadlineMs: 100 });
  const answers = await sendRaw(
    started.port,
    `POST ${API}/echo HTTP/1.1\r\nHost: x\r\nAuthorization: ${LIVE.authorization}\r\nContent-Length: 100\r\n\r\n{"a":`,
    1,
  );
  expect(answers).toMatchObject([
    { status: 408, json: { statusCode: 408, apiErrorCode: 'BAD_REQUEST', validationErrors: [] } },
  ]);
});

/** Begins to end the service. @returns how to wait for its end. */
async function shutDown({ app }: SampleApp): Promise<() => Promise<void>> {
  const closed = app.close();
  await until(() => !app.getHttpServer().listening);
  return () => closed;
}

test('at a shutdown a request in progress is answered, its connection closes, and none is accepted', async () => {
  const started = await startSampleApp();
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const get = (path: string) =>
    new Promise<{ status: number | undefined; connection: string | undefined }>(
      (resolve, reject) => {
        httpRequest(`${started.origin}${path}`, { agent, headers: LIVE }, (response) => {
          const { statusCode: status, headers } = response.resume();
          response.on('end', () => resolve({ status, connection: headers.connection }));
        })
          .on('error', reject)
          .end();
      },
    );
  expect(await get(`${API}/whoami`)).toEqual({ status: 200, connection: 'keep-alive' });
  const open = closeGate(started);
  const slow = get(`${API}/slow`);
  await until(() => started.sample.entered.includes('slow'));
  const closed = await shutDown(started);
  await expect(fetch(`${started.origin}/health/live`)).rejects.toThrow();
  open();
  expect(await slow).toEqual({ status: 200, connection: 'close' });
  await closed();
  agent.destroy();
});

test('while the framework closes, pipelined requests that arrive together are all answered', async () => {
  const started = await start({});
  const open = closeGate(started);
  const get = (path: string) =>
    `GET ${API}${path} HTTP/1.1\r\nHost: x\r\nAuthorization: ${LIVE.authorization}\r\n\r\n`;
  const { connect } = await import('node:net');
  const socket = connect(started.port, '127.0.0.1', () => socket.write(get('/slow')));
  let text = '';
  socket.on('data', (bytes: Buffer) => (text += bytes.toString('latin1')));
  const ended = new Promise((resolve) => socket.once('close', resolve));
  await until(() => started.sample.entered.includes('slow'));
  const closed = started.app.close();
  socket.write(get('/whoami') + get('/slow') + get('/whoami'));
  await until(() => started.edge.inFlight === 4);
  open();
  await ended;
  await closed;
  expect(text.match(/HTTP\/1.1 \d+|connection: close/gi)).toEqual([
    ...Array<string>(4).fill('HTTP/1.1 200'),
    'connection: close',
  ]);
});

test('at a shutdown nothing is carried out behind the answer that closes the connection', async () => {
  const started = await start({});
  const open = closeGate(started);
  const entered = (name: string) => started.sample.entered.filter((one) => one === name).length;
  const asked = (method: string, path: string) =>
    `${method} ${API}${path} HTTP/1.1\r\nHost: x\r\nAuthorization: ${LIVE.authorization}\r\n\r\n`;
  const { connect } = await import('node:net');
  const socket = connect(started.port, '127.0.0.1', () => socket.write(asked('GET', '/slow')));
  let text = '';
  socket.on('data', (bytes: Buffer) => (text += bytes.toString('latin1')));
  const ended = new Promise((resolve) => socket.once('close', resolve));
  await until(() => entered('slow') === 1);
  await shutDown(started);
  socket.write(asked('DELETE', '/account/first'));
  await until(() => entered('remove') === 1);
  // Its answer is made, and waits for the one before.
  await new Promise((resolve) => setImmediate(resolve));
  socket.write(asked('DELETE', '/account/second'));
  for (let turn = 0; turn < 10; turn++) await new Promise((resolve) => setImmediate(resolve));
  open();
  await ended;
  expect(text.match(/HTTP\/1.1 \d+/g)).toEqual(['HTTP/1.1 200', 'HTTP/1.1 204']);
  expect(entered('remove')).toBe(1);
});
