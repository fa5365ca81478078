import { connect } from 'node:net';
import { API, basic, LIVE, useSampleApp } from './sample-app.js';

/** Requests that are refused while their body is on its way. */

const MIB = 1024 * 1024;

const it_ = useSampleApp();

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
    headers: { authorization: basic(':wrong') },
    body: BIG,
    status: 401,
  },
  'of no route': { path: '/nowhere', body: BIG, status: 404 },
  'with a huge target': { path: `/${'x'.repeat(17_000)}`, body: BIG, status: 414 },
  'with an expectation': { path: '/echo', headers: { expect: 'the-best' }, body: BIG, status: 417 },
};

describe.each(Object.entries(REFUSED))('a body %s', (_name, refused) => {
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
