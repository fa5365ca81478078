/**
 * A receiver of webhooks in a process of its own: an HTTP and an HTTPS server that send every
 * request, as it arrived, to the parent process, and behave to each path as the parent says.
 */
import { createServer } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { connect, createServer as createTcpServer } from 'node:net';

const { host, tls } = JSON.parse(process.argv[2]);
/** By path: what is left of what the parent said; the last one stays. */
const behaviours = new Map();
const ANSWER = { kind: 'answer' };
let connections = 0;

function behaviourAt(path) {
  const left = behaviours.get(path) ?? [ANSWER];
  return left.length > 1 ? left.shift() : (left[0] ?? ANSWER);
}

async function receive(request, response, isTls) {
  const chunks = [];
  try {
    for await (const chunk of request) chunks.push(chunk);
  } catch {
    return; // The sender left.
  }
  const path = new URL(request.url, 'http://receiver').pathname;
  const behaviour = behaviourAt(path);
  process.send({
    kind: 'received',
    request: {
      method: request.method,
      path,
      url: request.url,
      headers: request.headers,
      rawHeaders: request.rawHeaders,
      body: Buffer.concat(chunks).toString('base64'),
      atMs: Date.now(),
      connection: request.socket.connectionNumber,
      tls: isTls,
    },
  });
  behave[behaviour.kind](behaviour, response, request.socket);
}

const behave = {
  answer({ status = 200, headers = {}, body = '' }, response) {
    response.writeHead(status, headers).end(body);
  },
  redirect({ status = 302, to }, response) {
    response.writeHead(status, { location: to }).end();
  },
  hang() {},
  'hang-in-body'({ status = 200 }, response) {
    response.writeHead(status).write('one piece, and then nothing');
  },
  trickle({ status = 200, everyMs = 100 }, response) {
    response.writeHead(status);
    const timer = setInterval(() => response.write('.'), everyMs);
    response.on('close', () => clearInterval(timer));
  },
  'trickle-headers'({ everyMs = 100 }, response, socket) {
    socket.write('HTTP/1.1 200 OK\r\nx-endless: ');
    const timer = setInterval(() => socket.write('.'), everyMs);
    socket.on('close', () => clearInterval(timer));
  },
  'endless-headers'(_, response, socket) {
    socket.write(`HTTP/1.1 200 OK\r\n${'x-long: 0123456789\r\n'.repeat(20_000)}`);
  },
  'endless-interim'(_, response, socket) {
    const timer = setInterval(() => socket.write('HTTP/1.1 103 Early Hints\r\n\r\n'), 5);
    socket.on('close', () => clearInterval(timer));
  },
  'small-chunks'({ bytes }, response) {
    for (let n = 0; n < bytes; n += 1) response.write('x');
    response.end();
  },
  'endless-framing'({ of }, response, socket) {
    const chunked = 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n';
    const begin = {
      'empty-lines': ['', '\r\n'],
      extension: [`${chunked}1;`, 'x'],
      zeros: [chunked, '0'],
      trailers: [`${chunked}0\r\n`, 'x: y\r\n'],
    };
    const [head, again] = begin[of];
    const piece = again.repeat(64 * 1024);
    const more = () => {
      while (!socket.destroyed) if (!socket.write(piece)) return;
    };
    socket.on('drain', more);
    socket.write(head);
    more();
  },
  flood({ status = 200, bytes = 1_000_000_000 }, response) {
    response.writeHead(status, { 'content-length': String(bytes) });
    const piece = Buffer.alloc(64 * 1024, 'x');
    let left = bytes;
    const more = () => {
      while (left > 0 && !response.destroyed) {
        const isRoom = response.write(left < piece.length ? piece.subarray(0, left) : piece);
        left -= piece.length;
        if (!isRoom) return;
      }
      response.end();
    };
    response
      .on('drain', more)
      .on('close', () => process.send({ kind: 'flooded', bytes: bytes - Math.max(0, left) }));
    more();
  },
  'break-off'({ when = 'before-headers', status = 200 }, response, socket) {
    if (when === 'before-headers') return socket.destroy();
    if (when === 'in-headers')
      return socket.write('HTTP/1.1 200 OK\r\nx-hal', () => socket.destroy());
    response.writeHead(status, { 'content-length': '1000' });
    response.write('half of it', () => socket.destroy());
  },
  'break-tls'(_, response, socket) {
    // A record that looks right, and does not decrypt.
    const record = Buffer.concat([Buffer.from([0x17, 3, 3, 0, 32]), Buffer.alloc(32, 'x')]);
    rawSocketOf.get(socket.remotePort)?.write(record);
  },
  'not-http'(_, response, socket) {
    socket.end('220 mail.example ESMTP\r\n');
  },
};

/** The connection of the sender, by the port of the one that leads to the TLS server. */
const rawSocketOf = new Map();

function connected(socket) {
  connections += 1;
  process.send({ kind: 'connected', connections });
  socket.on('error', () => undefined);
  return connections;
}

async function listen(server, at) {
  server.keepAliveTimeout = 30_000;
  server.requestTimeout = 0;
  server.headersTimeout = 0;
  await new Promise((resolve) => server.listen(0, at, resolve));
  return server.address().port;
}

const plain = createServer((request, response) => void receive(request, response, false));
plain.on('connection', (socket) => {
  socket.connectionNumber = connected(socket);
});
const port = await listen(plain, host);

/** The TLS server behind a plain one, which can write beside the encryption. */
async function listenWithTls() {
  const encrypted = createTlsServer(tls, (request, response) => {
    request.socket.connectionNumber = rawSocketOf.get(request.socket.remotePort).connectionNumber;
    void receive(request, response, true);
  });
  encrypted.on('tlsClientError', () => undefined);
  const innerPort = await listen(encrypted, '127.0.0.1');
  const front = createTcpServer((raw) => {
    raw.connectionNumber = connected(raw);
    const inner = connect(innerPort, '127.0.0.1', () => {
      rawSocketOf.set(inner.localPort, raw);
      raw.pipe(inner).pipe(raw);
    });
    inner.on('error', () => raw.destroy()).on('close', () => raw.destroy());
    raw.on('close', () => inner.destroy());
  });
  return listen(front, host);
}
const tlsPort = tls ? await listenWithTls() : null;

process.on('message', ({ id, path, sequence }) => {
  behaviours.set(path, [...sequence]);
  process.send({ kind: 'behaves', id });
});
process.on('disconnect', () => process.exit());
process.send({ kind: 'listening', port, tlsPort });
