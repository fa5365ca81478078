import { createHash, createPublicKey, verify, type JsonWebKey, type KeyObject } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { Webhook } from 'standardwebhooks';
import { z } from 'zod';
import type { SeededRandom } from './seeded-random.js';

/** What a receiver does until it is healed; then all of them answer 200. */
export const RECEIVER_KINDS = ['healthy', 'failing', 'hanging', 'breaking-off', 'any'] as const;
export type ReceiverKind = (typeof RECEIVER_KINDS)[number];

const envelope = z.object({
  id: z.string(),
  type: z.string(),
  tenantAlias: z.string(),
  live: z.boolean(),
  created: z.number(),
  data: z.record(z.string(), z.unknown()),
});
export type Envelope = z.infer<typeof envelope>;

/** What arrived at an endpoint under one id. */
export interface Arrived {
  readonly envelope: Envelope;
  readonly bodyDigest: string;
  times: number;
  /** At least one was answered with 200. */
  isAccepted: boolean;
}

/** An endpoint of a tenant. */
export interface Receiver {
  readonly url: string;
  readonly tenant: string;
  readonly kind: ReceiverKind;
  /** Of its subscription: requests with another signature are faults. */
  secret: string;
  /** By id. */
  readonly arrived: Map<string, Arrived>;
}

/** Endpoints in this process, each with its own way to misbehave. They check what arrives. */
export class WebhookReceivers {
  readonly all: Receiver[] = [];
  /** Requests that no sender may send. */
  readonly faults: string[] = [];
  /** Requests that were answered with 200. */
  accepted = 0;
  private isHealed = false;
  private readonly hanging = new Set<ServerResponse>();
  private readonly server: Server;
  private keys = new Map<string, KeyObject>();

  private constructor(private readonly random: SeededRandom) {
    this.server = createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('error', () => undefined);
      request.on('end', () => this.take(request, Buffer.concat(chunks), response));
    });
  }

  static async start(random: SeededRandom): Promise<WebhookReceivers> {
    const receivers = new WebhookReceivers(random);
    receivers.server.listen(0, '127.0.0.1');
    await once(receivers.server, 'listening');
    return receivers;
  }

  /** A further endpoint. */
  add(tenant: string, kind: ReceiverKind): Receiver {
    const address = this.server.address();
    const port = typeof address === 'object' ? address?.port : undefined;
    const url = `http://127.0.0.1:${port ?? 0}/${this.all.length}`;
    const receiver: Receiver = { url, tenant, kind, secret: '', arrived: new Map() };
    this.all.push(receiver);
    return receiver;
  }

  /** @param jwks the answer of `/.well-known/jwks.json`. */
  trust(jwks: unknown): void {
    const { keys } = z.object({ keys: z.array(z.looseObject({ kid: z.string() })) }).parse(jwks);
    this.keys = new Map(
      keys.map((key) => [key.kid, createPublicKey({ key: key as JsonWebKey, format: 'jwk' })]),
    );
  }

  /** From now on all answer 200. */
  heal(): void {
    this.isHealed = true;
    for (const response of this.hanging) response.destroy();
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections();
    this.server.close();
    await once(this.server, 'close');
  }

  private take(request: IncomingMessage, body: Buffer, response: ServerResponse): void {
    const receiver = this.all[Number(request.url?.slice(1))];
    if (receiver === undefined) return void response.writeHead(404).end();
    const kind = this.isHealed ? 'healthy' : receiver.kind;
    const does = kind === 'any' ? this.random.pick(RECEIVER_KINDS) : kind;
    this.note(receiver, request, body, does === 'healthy');
    switch (does) {
      case 'healthy':
        this.accepted += 1;
        return void response.writeHead(200).end();
      case 'failing':
        return void response.writeHead(500).end('not now');
      case 'breaking-off':
        return void response.destroy();
      case 'hanging':
      case 'any':
        this.hanging.add(response);
        response.once('close', () => this.hanging.delete(response));
    }
  }

  private note(
    receiver: Receiver,
    request: IncomingMessage,
    body: Buffer,
    isAccepted: boolean,
  ): void {
    const fault = (text: string): void => void this.faults.push(`${receiver.url}: ${text}`);
    const parsed = envelope.safeParse(JSON.parse(body.toString()));
    if (!parsed.success) return fault('the body is no envelope');
    const { id, tenantAlias } = parsed.data;
    if (request.headers['webhook-id'] !== id) fault(`webhook-id is not ${id}`);
    if (tenantAlias !== receiver.tenant) fault(`${id} is of another tenant`);
    if (!this.isSigned(receiver, request, body)) fault(`${id} is not signed`);
    const bodyDigest = createHash('sha256').update(body).digest('hex');
    const before = receiver.arrived.get(id);
    if (before === undefined) {
      receiver.arrived.set(id, { envelope: parsed.data, bodyDigest, times: 1, isAccepted });
      return;
    }
    if (before.bodyDigest !== bodyDigest) fault(`${id} arrived with another body`);
    before.times += 1;
    before.isAccepted ||= isAccepted;
  }

  /** Both signatures, computed here without the sender's libraries where that is simple. */
  private isSigned({ secret }: Receiver, { headers }: IncomingMessage, body: Buffer): boolean {
    const texts = Object.fromEntries(
      Object.entries(headers).map(([name, value]) => [name, String(value)]),
    );
    const [header = '', , signature = ''] = (texts['x-hook-jws-rfc-7797'] ?? '').split('.');
    const { kid } = z
      .object({ kid: z.string(), alg: z.literal('RS256') })
      .parse(JSON.parse(Buffer.from(header, 'base64url').toString()));
    const key = this.keys.get(kid);
    const signed = Buffer.from(`${header}.${body.toString('base64url')}`);
    try {
      new Webhook(secret).verify(body.toString(), texts);
    } catch {
      return false;
    }
    return key !== undefined && verify('sha256', signed, key, Buffer.from(signature, 'base64url'));
  }
}
