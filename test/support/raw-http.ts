import { connect } from 'node:net';

export interface RawAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
  readonly json: unknown;
}

/** Sends bytes; returns the answers until the connection is closed, or `expected` of them. */
export function sendRaw(
  port: number,
  bytes: string | Buffer | readonly (string | Buffer)[],
  expected?: number,
): Promise<readonly RawAnswer[]> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1');
    const received: Buffer[] = [];
    const finish = () => {
      socket.destroy();
      resolve(parseAnswers(Buffer.concat(received)));
    };
    socket.on('data', (chunk) => {
      received.push(chunk);
      if (expected !== undefined && parseAnswers(Buffer.concat(received)).length >= expected)
        finish();
    });
    socket.on('end', finish);
    socket.on('close', finish);
    // A server that hangs up while we still send resets the connection; what it answered is there
    // all the same.
    socket.on('error', (error: NodeJS.ErrnoException) =>
      error.code === 'ECONNRESET' || error.code === 'EPIPE' ? finish() : reject(error),
    );
    for (const part of [bytes].flat()) socket.write(part);
  });
}

function parseAnswers(bytes: Buffer): readonly RawAnswer[] {
  const answers: RawAnswer[] = [];
  let rest = bytes;
  for (;;) {
    const headEnd = rest.indexOf('\r\n\r\n');
    if (headEnd === -1) return answers;
    const [statusLine = '', ...fields] = rest.subarray(0, headEnd).toString('latin1').split('\r\n');
    const headers = Object.fromEntries(
      fields.map((field) => [
        field.slice(0, field.indexOf(':')).toLowerCase(),
        field.slice(field.indexOf(':') + 1).trim(),
      ]),
    );
    const status = Number(statusLine.split(' ')[1]);
    const length = Number(headers['content-length'] ?? 0);
    const body = rest.subarray(headEnd + 4, headEnd + 4 + length);
    if (body.length < length) return answers;
    if (status !== 100)
      answers.push({
        status,
        headers,
        text: body.toString('utf8'),
        json: jsonOf(body.toString('utf8')),
      });
    rest = rest.subarray(headEnd + 4 + (status === 100 ? 0 : length));
  }
}

function jsonOf(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text);
    return value;
  } catch {
    return undefined;
  }
}
