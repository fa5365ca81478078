import { Agent, request, type IncomingHttpHeaders } from 'node:http';
import type { FuzzRequest } from './requests.js';

export interface FuzzAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  /** The parsed text; undefined: empty, or no JSON. */
  readonly body: unknown;
}

const ANSWER_MS_MAX = 60_000;

/** Sends requests byte for byte, over kept connections. */
export class Sender {
  private readonly agent = new Agent({ keepAlive: true, maxSockets: 4 });

  constructor(private readonly origin: string) {}

  /** @throws when there is no answer. */
  send({ method, target, headers, body }: FuzzRequest): Promise<FuzzAnswer> {
    const { hostname, port } = new URL(this.origin);
    return new Promise((resolve, reject) => {
      const sent = request(
        { hostname, port, method, path: target, headers, agent: this.agent },
        (response) => {
          const pieces: Buffer[] = [];
          response.on('data', (piece: Buffer) => pieces.push(piece));
          response.on('error', reject);
          response.on('close', () => {
            if (!response.complete) return reject(new Error('the answer broke off'));
            const text = Buffer.concat(pieces).toString();
            const { statusCode: status = 0, headers: fields } = response;
            resolve({ status, headers: fields, text, body: parsed(text) });
          });
        },
      );
      sent.setTimeout(ANSWER_MS_MAX, () => sent.destroy(new Error('nothing arrived in time')));
      sent.on('error', reject);
      sent.end(body);
    });
  }

  close(): void {
    this.agent.destroy();
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
