import { Agent, request } from 'node:http';
import { connect, type Server, type Socket } from 'node:net';
import { promisify } from 'node:util';
import { eventually } from '../support/embedded.js';
import { API, basic, LIVE, startSampleApp, type SampleApp } from './sample-app.js';
import { sendRaw } from '../support/raw-http.js';

/**
 * A request that is refused while its body is still on its way: the client gets the answer, and
 * holds nothing for long.
 */

const MIB = 1024 * 1024;
const REST = { restBytesMax: 16 * MIB, restTimeMs: 400, arrivingBytesMax: 4 * MIB };

let it_: SampleApp;
beforeAll(async () => {
  it_ = await startSampleApp(REST);
});
afterAll(() => it_.app.close());

interface Refused {
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: Buffer;
  readonly status: number;
}

const BIG = Buffer.alloc(8 * MIB, 0x20);
const DEEP = Buffer.from('['.repeat(40_000) + ']'.repeat(40_000));
const REFUSED: Readonly<Record<string, Refused>> = {
  'nested 40 000 deep': { path: '/echo', body: DEEP, status: 400 },
  'too large': { path: '/echo', body: BIG, status: 413 },
  'of another type': {
    path: '/echo',
    headers: { 'content-type': 'text/plain' },
    body: BIG,
    status: 415,
  },
  'without credentials': {
    path: '/echo',
    headers: { authorization: basic(':nobody') },
    body: BIG,
    status: 401,
  },
  'of a closed endpoint': {
    path: '/../closed/open/keyed',
    headers: { authorization: basic(':LIVE_closed') },
    body: BIG,
    status: 405,
  },
  'of no route': { path: '/nowhere', body: BIG, status: 404 },
  'with a huge target': { path: `/${'x'.repeat(17_000)}`, body: BIG, status: 414 },
  'with an expectation': { path: '/echo', headers: { expect: 'the-best' }, body: BIG, status: 417 },
};

interface Answered {
  readonly status: number | undefined;
  readonly text: string;
}

/**
 * By Node's own client, which writes as fast as it can and gives up at the first error of its
 * socket.
 */
function post(
  { path, headers = {}, body }: Refused,
  agent: Agent | false,
  inChunks: boolean,
): Promise<Answered> {
  return new Promise((resolve, reject) => {
    const length = inChunks ? {} : { 'content-length': String(body.length) };
    const sent = request(
      `${it_.origin}${API}${path}`,
      {
        method: 'POST',
        agent,
        headers: { ...LIVE, 'content-type': 'application/json', ...length, ...headers },
      },
      (response) => {
        const pieces: Buffer[] = [];
        response.on('data', (piece: Buffer) => pieces.push(piece));
        response.on('error', reject);
        response.on('end', () =>
          resolve({ status: response.statusCode, text: Buffer.concat(pieces).toString() }),
        );
      },
    );
    sent.on('error', reject);
    if (inChunks)
      for (let at = 0; at < body.length; at += 4096) sent.write(body.subarray(at, at + 4096));
    sent.end(inChunks ? undefined : body);
  });
}

describe.each(Object.entries(REFUSED))('a body %s', (_name, refused) => {
  const isRefused = ({ status, text }: Answered): void => {
    expect(status).toBe(refused.status);
    expect(JSON.parse(text)).toMatchObject({ statusCode: refused.status });
  };

  test.each([
    ['at once', false],
    ['in chunks', true],
  ])('is answered to a client that sends %s and closes', async (_how, inChunks) => {
    for (let round = 0; round < 5; round += 1) isRefused(await post(refused, false, inChunks));
  });

  test('is answered to a client that keeps its connection', async () => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    for (let round = 0; round < 3; round += 1)
      isRefused(await post(refused, agent, round % 2 === 1));
    agent.destroy();
  });

  test.each(['close', 'keep-alive'])(
    'is answered to a client that writes all of it before it reads (%s)',
    async (connection) => {
      const fields = Object.entries({
        ...LIVE,
        'content-type': 'application/json',
        ...refused.headers,
        connection,
      });
      const path = new URL(`${it_.origin}${API}${refused.path}`).pathname;
      const head = `POST ${path} HTTP/1.1\r\nHost: x\r\n${fields.map(([name, value]) => `${name}: ${value}\r\n`).join('')}`;
      const answer = await writeThenRead(
        `${head}Content-Length: ${refused.body.length}\r\n\r\n`,
        refused.body,
      );
      expect(answer).toMatch(new RegExp(`^HTTP/1.1 ${refused.status} `));
      expect(JSON.parse(answer.slice(answer.indexOf('\r\n\r\n')))).toMatchObject({
        statusCode: refused.status,
      });
    },
  );
});

/** Reads nothing before the last byte is handed to the system. */
function writeThenRead(head: string, body: Buffer): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port: it_.port, host: '127.0.0.1' });
    socket.pause();
    let text = '';
    socket.on('error', reject);
    socket.write(head);
    socket.write(body, () => {
      socket.on('data', (piece) => {
        text += piece.toString();
        if (text.includes('\r\n\r\n') && text.trimEnd().endsWith('}')) {
          socket.destroy();
          resolve(text);
        }
      });
      socket.on('end', () => resolve(text));
      socket.resume();
    });
  });
}

test('a connection continues after a body that was read to its end', async () => {
  const deep = `POST ${API}/echo HTTP/1.1\r\nHost: x\r\nAuthorization: ${LIVE.authorization}\r\nContent-Length: ${DEEP.length}\r\n\r\n`;
  const next = `GET ${API}/whoami HTTP/1.1\r\nHost: x\r\nAuthorization: ${LIVE.authorization}\r\n\r\n`;
  const answers = await sendRaw(it_.port, [deep, DEEP, next], 2);
  expect(answers.map(({ status }) => status)).toEqual([400, 200]);
  expect(answers.map(({ headers }) => headers['connection'])).not.toContain('close');
});

test('a body that breaks after its answer gets no second answer', async () => {
  const refused = `POST ${API}/echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n12`;
  const socket = connect({ port: it_.port, host: '127.0.0.1' });
  let text = '';
  const ended = new Promise((resolve) =>
    socket.on('error', () => undefined).once('close', resolve),
  );
  await new Promise<void>((resolve) => {
    socket.on('data', (piece) => {
      text += piece.toString();
      resolve();
    });
    socket.write(refused);
  });
  socket.write('345\r\nno length\r\n');
  await ended;
  expect(text.match(/HTTP\/1.1 \d+/g)).toEqual(['HTTP/1.1 401']);
});

describe('a body in chunks of one byte', () => {
  const chunksOf = (text: string): string =>
    [...text].map((character) => `1\r\n${character}\r\n`).join('');
  const head = (method: string, path: string, { authorization } = LIVE): string =>
    `${method} ${API}${path} HTTP/1.1\r\nHost: x\r\nAuthorization: ${authorization}\r\nTransfer-Encoding: chunked\r\n\r\n`;

  test('is read while it is short', async () => {
    const [answer] = await sendRaw(
      it_.port,
      [head('POST', '/echo'), chunksOf('{"a":1}'), '0\r\n\r\n'],
      1,
    );
    expect(answer).toMatchObject({ status: 200, json: { body: { a: 1 } } });
  });

  test.each([
    ['that is read', 'POST', LIVE],
    ['that nobody reads', 'GET', LIVE],
    ['that is refused', 'POST', { authorization: basic(':nobody') }],
  ])('%s is closed before it costs time and memory', async (_name, method, credentials) => {
    const socket = connect({ port: it_.port, host: '127.0.0.1' });
    let text = '';
    socket.on('data', (piece) => (text += piece.toString())).on('error', () => undefined);
    let sent = 0;
    const received = new Promise<number>((resolve) =>
      (it_.app.getHttpServer() as Server).once('connection', (accepted: Socket) =>
        accepted.once('close', () => resolve(accepted.bytesRead)),
      ),
    );
    socket.write(head(method, method === 'GET' ? '/whoami' : '/echo', credentials));
    const chunks = chunksOf(' '.repeat(10_000));
    const more = (): void => {
      while (socket.writable && sent < 32 * MIB && socket.write(chunks)) sent += chunks.length;
    };
    socket.on('drain', more);
    more();
    expect(await received).toBeLessThan(MIB / 2);
    socket.destroy();
    // Whichever comes first; one reset with the answer in it may lose it.
    expect(text.match(/HTTP\/1.1 \d+/g)?.length ?? 0).toBeLessThanOrEqual(1);
  });
});

describe.each(['close', 'keep-alive'])('a client that does not end (%s)', (connection) => {
  const head = `POST ${API}/echo HTTP/1.1\r\nHost: x\r\nConnection: ${connection}\r\nTransfer-Encoding: chunked\r\n\r\n`;

  /** Which the server holds. */
  const connections = async (): Promise<number> => {
    const server = it_.app.getHttpServer() as Server;
    return promisify(server.getConnections.bind(server))();
  };

  /** Until the server tears the connection down. */
  function closed(socket: Socket): Promise<string> {
    return new Promise((resolve) => {
      let text = '';
      socket.on('data', (piece) => (text += piece.toString()));
      socket.on('error', () => undefined);
      socket.on('close', () => resolve(text));
    });
  }

  test('is answered, and its connection is closed once it has sent too much', async () => {
    const socket = connect({ port: it_.port, host: '127.0.0.1', allowHalfOpen: true });
    const ended = closed(socket);
    socket.write(head);
    const chunk = `${(64 * 1024).toString(16)}\r\n${' '.repeat(64 * 1024)}\r\n`;
    const more = (): void => {
      while (socket.writable && socket.write(chunk));
    };
    socket.on('drain', more);
    more();
    expect(await ended).toMatch(/^HTTP\/1.1 401 /);
    // What was read, and the contents of the buffers on both sides.
    expect(socket.bytesWritten).toBeLessThan(REST.restBytesMax + 16 * MIB);
  });

  test('is answered, and its connection is closed when its time is over, without counting as a request meanwhile', async () => {
    const socket = connect({ port: it_.port, host: '127.0.0.1', allowHalfOpen: true });
    const ended = closed(socket);
    const answered = new Promise((resolve) => socket.once('data', resolve));
    socket.write(`${head}5\r\n12`);
    await answered;
    expect(it_.edge.inFlight).toBe(0);
    expect(await connections()).toBeGreaterThan(0);
    await eventually(async () => (await connections()) === 0);
    socket.destroy();
    expect(await ended).toMatch(/^HTTP\/1.1 401 /);
  });
});

test('delayed bodies cost the client with the most of them, and no normal request', async () => {
  const head = (length: number): string =>
    `POST ${API}/echo HTTP/1.1\r\nHost: x\r\nAuthorization: ${LIVE.authorization}\r\nContent-Length: ${length}\r\n\r\n`;
  const almost = Buffer.alloc(MIB - 1, 0x20);
  const answers: string[] = [];
  const holders = Array.from({ length: 12 }, () => {
    const socket = connect({ port: it_.port, host: '127.0.0.1' });
    socket.on('error', () => undefined).on('data', (piece) => answers.push(piece.toString()));
    socket.write(head(MIB));
    socket.write(almost);
    return socket;
  });
  // Four are left in the end: one byte less than 4 MiB.
  await eventually(() => Promise.resolve(answers.length === 8));
  const small = '{"a":1}';
  const [answer] = await sendRaw(it_.port, [head(small.length), small], 1);
  expect(answer).toMatchObject({ status: 200, json: { body: { a: 1 } } });
  for (const text of answers) {
    expect(text).toMatch(/^HTTP\/1.1 503 .*\r\nRetry-After: 1\r\n/s);
    expect(JSON.parse(text.slice(text.indexOf('\r\n\r\n')))).toMatchObject({
      statusCode: 503,
      apiErrorCode: 'UNAVAILABLE',
    });
  }
  for (const socket of holders) socket.destroy();
  await eventually(() => Promise.resolve(it_.edge.inFlight === 0));
});
