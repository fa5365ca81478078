import { Agent, request as httpRequest } from 'node:http';
import {
  API,
  LIVE,
  sampleOfTest,
  startSampleApp,
  turnsUntil,
  type SampleApp,
} from './sample-app.js';
import { errorBody } from '../support/error-body.js';
import { sendRaw } from '../support/raw-http.js';

const start = sampleOfTest();

test('requests of clients that left are not counted, pipelined ones included', async () => {
  const started = await start({ inFlightMax: 10 });
  const open = started.sample.close();
  const slow = `GET ${API}/slow HTTP/1.1\r\nHost: x\r\nAuthorization: ${LIVE.authorization}\r\n\r\n`;
  const whoami = slow.replace('/slow', '/whoami');
  const { connect } = await import('node:net');
  const socket = connect(started.port, '127.0.0.1', () => socket.write(slow + whoami + whoami));
  await turnsUntil(() => started.edge.inFlight === 3);
  socket.destroy();
  await turnsUntil(() => started.edge.inFlight === 0);
  open();
});

test('work for a disconnected client is aborted', async () => {
  const started = await start({});
  const request = `GET ${API}/departure HTTP/1.1\r\nHost: x\r\nAuthorization: ${LIVE.authorization}\r\n\r\n`;
  const { connect } = await import('node:net');
  const socket = connect(started.port, '127.0.0.1', () => socket.write(request));
  await turnsUntil(() => started.sample.entered.includes('waiting for a departure'));
  socket.destroy();
  await turnsUntil(() => started.sample.entered.includes('departure'));
});

test('a request over its deadline is answered with 503, and its late answer is dropped', async () => {
  const started = await start({ deadlineMs: 100 });
  const open = started.sample.close();
  const late = await fetch(`${started.origin}${API}/slow`, { headers: LIVE });
  expect([late.status, late.headers.get('retry-after'), await late.json()]).toEqual([
    503,
    '1',
    errorBody(503, 'UNAVAILABLE'),
  ]);
  open();
  await new Promise((resolve) => setImmediate(resolve));
  expect((await fetch(`${started.origin}${API}/whoami`, { headers: LIVE })).status).toBe(200);
  expect(started.logText()).not.toContain('/api/v1/acme');
  // Nothing is wrong: the work continues after the answer.
  expect(started.logText()).not.toContain('ALREADY_SENT');
});

test('an answer that is streamed has no deadline, and its rest takes no turn from others', async () => {
  const started = await start({ deadlineMs: 100, atWorkMax: 1, inFlightMax: 8 });
  const open = started.sample.close();
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
  await turnsUntil(() => !app.getHttpServer().listening);
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
  const open = started.sample.close();
  const slow = get(`${API}/slow`);
  await turnsUntil(() => started.sample.entered.includes('slow'));
  const closed = await shutDown(started);
  await expect(fetch(`${started.origin}/health/live`)).rejects.toThrow();
  open();
  expect(await slow).toEqual({ status: 200, connection: 'close' });
  await closed();
  agent.destroy();
});

test('while the framework closes, pipelined requests that arrive together are all answered', async () => {
  const started = await start({});
  const open = started.sample.close();
  const get = (path: string) =>
    `GET ${API}${path} HTTP/1.1\r\nHost: x\r\nAuthorization: ${LIVE.authorization}\r\n\r\n`;
  const { connect } = await import('node:net');
  const socket = connect(started.port, '127.0.0.1', () => socket.write(get('/slow')));
  let text = '';
  socket.on('data', (bytes: Buffer) => (text += bytes.toString('latin1')));
  const ended = new Promise((resolve) => socket.once('close', resolve));
  await turnsUntil(() => started.sample.entered.includes('slow'));
  const closed = started.app.close();
  socket.write(get('/whoami') + get('/slow') + get('/whoami'));
  await turnsUntil(() => started.edge.inFlight === 4);
  open();
  await ended;
  await closed;
  expect(text.match(/HTTP\/1.1 \d+|connection: close/gi)).toEqual([
    ...Array<string>(4).fill('HTTP/1.1 200'),
    'connection: close',
  ]);
});

test('at a shutdown nothing is executed after the answer that closes the connection', async () => {
  const started = await start({});
  const open = started.sample.close();
  const entered = (name: string) => started.sample.entered.filter((one) => one === name).length;
  const asked = (method: string, path: string) =>
    `${method} ${API}${path} HTTP/1.1\r\nHost: x\r\nAuthorization: ${LIVE.authorization}\r\n\r\n`;
  const { connect } = await import('node:net');
  const socket = connect(started.port, '127.0.0.1', () => socket.write(asked('GET', '/slow')));
  let text = '';
  socket.on('data', (bytes: Buffer) => (text += bytes.toString('latin1')));
  const ended = new Promise((resolve) => socket.once('close', resolve));
  await turnsUntil(() => entered('slow') === 1);
  await shutDown(started);
  socket.write(asked('DELETE', '/account/first'));
  await turnsUntil(() => entered('remove') === 1);
  // Its answer is made, and waits for the one before.
  await new Promise((resolve) => setImmediate(resolve));
  socket.write(asked('DELETE', '/account/second'));
  for (let turn = 0; turn < 10; turn++) await new Promise((resolve) => setImmediate(resolve));
  open();
  await ended;
  expect(text.match(/HTTP\/1.1 \d+/g)).toEqual(['HTTP/1.1 200', 'HTTP/1.1 204']);
  expect(entered('remove')).toBe(1);
});
