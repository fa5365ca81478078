import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';

/** The addresses of a name, or how its server fails. */
export type Zone = readonly string[] | 'no-such-name' | 'server-failure' | 'silence';

/** A DNS server of a test: UDP on loopback. */
export interface NameServer {
  readonly address: string;
  /** The next questions about the name are answered so, in turn; the last answer stays. */
  set(name: string, ...answers: readonly Zone[]): void;
  /** Number of questions about the name, of each type of record. */
  questions(name: string, type: 'A' | 'AAAA'): number;
  close(): Promise<void>;
}

const TYPES: Readonly<Record<number, 'A' | 'AAAA'>> = { 1: 'A', 28: 'AAAA' };

export async function startNameServer(): Promise<NameServer> {
  const zones = new Map<string, readonly Zone[]>();
  const asked = new Map<string, number>();
  const countOf = (name: string, type: string): number => asked.get(`${type} ${name}`) ?? 0;
  const socket = createSocket('udp4');
  socket.on('message', (query, { port, address }) => {
    const { name, code, end } = questionIn(query);
    const type = TYPES[code] ?? 'other';
    const answers = zones.get(name) ?? ['no-such-name' as const];
    const count = countOf(name, type);
    asked.set(`${type} ${name}`, count + 1);
    const zone = answers[Math.min(count, answers.length - 1)] ?? 'no-such-name';
    if (zone === 'silence') return;
    socket.send(answerTo(query.subarray(0, end), type, zone), port, address);
  });
  socket.bind(0, '127.0.0.1');
  await once(socket, 'listening');
  return {
    address: `127.0.0.1:${socket.address().port}`,
    set: (name, ...answers) => void zones.set(name, answers),
    questions: countOf,
    close: async () => {
      socket.close();
      await once(socket, 'close');
    },
  };
}

function questionIn(query: Buffer): { name: string; code: number; end: number } {
  const labels: string[] = [];
  let at = 12;
  for (let length = query.readUInt8(at); length > 0; length = query.readUInt8(at)) {
    labels.push(query.toString('latin1', at + 1, at + 1 + length).toLowerCase());
    at += 1 + length;
  }
  return { name: labels.join('.'), code: query.readUInt16BE(at + 1), end: at + 5 };
}

/** @param question the query up to the end of its question. */
function answerTo(question: Buffer, type: string, zone: Exclude<Zone, 'silence'>): Buffer {
  const addresses = Array.isArray(zone) ? (zone as readonly string[]) : [];
  const records = addresses
    .filter((address) => (isIP(address) === 4 ? 'A' : 'AAAA') === type)
    .map((address) => Buffer.from(ipaddr.parse(address).toByteArray()))
    .map((bytes) => {
      const head = Buffer.alloc(12);
      head.writeUInt16BE(0xc00c, 0); // The name of the question.
      head.writeUInt16BE(bytes.length === 4 ? 1 : 28, 2);
      head.writeUInt16BE(1, 4);
      head.writeUInt16BE(bytes.length, 10);
      return Buffer.concat([head, bytes]);
    });
  const answer = Buffer.from(question);
  const failure = zone === 'no-such-name' ? 3 : zone === 'server-failure' ? 2 : 0;
  answer.writeUInt16BE(0x8180 | failure, 2);
  answer.writeUInt16BE(1, 4);
  answer.writeUInt16BE(records.length, 6);
  answer.writeUInt32BE(0, 8);
  return Buffer.concat([answer, ...records]);
}
