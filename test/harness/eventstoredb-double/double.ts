import { Server, ServerCredentials } from '@grpc/grpc-js';
import gossipService, {
  type IGossipServer,
} from '@eventstore/db-client/generated/gossip_grpc_pb.js';
import featuresService, {
  type IServerFeaturesServer,
} from '@eventstore/db-client/generated/serverfeatures_grpc_pb.js';
import streamsService from '@eventstore/db-client/generated/streams_grpc_pb.js';
import { randomUUID } from 'node:crypto';
import { setImmediate as breathe } from 'node:timers/promises';
import { Faults, type IncomingCall, type MethodName } from './faults.js';
import { readGossip, supportedMethods } from './node-calls.js';
import { type ClusterView, type Endpoint, type ServedNode } from './node.js';
import { type OutgoingEvents } from './outgoing-events.js';
import { read, type ReadCall } from './read-calls.js';
import { EventStore } from './store.js';
import { proposedEvent } from './stored-event.js';
import { TcpProxy } from '../tcp-proxy.js';
import { append, type AppendAnswer, type AppendCall } from './write-calls.js';

export interface DoubleOptions {
  /** Names and passwords; default: no credentials are needed. */
  readonly users?: Readonly<Record<string, string>>;
  /** PEM texts; with them connections must be TLS. */
  readonly tls?: { readonly cert: string; readonly key: string };
  readonly store?: EventStore;
  readonly cluster?: ClusterView;
  /** Default: a free one. */
  readonly port?: number | undefined;
}

/** An event that gets into the store without any client. */
export interface ForeignEvent {
  readonly type: string;
  readonly id?: string;
  /** JSON, or bytes as they are. */
  readonly data?: unknown;
  readonly metadata?: unknown;
  readonly isJson?: boolean;
}

/** So many calls are remembered; older ones are only counted. */
const REMEMBERED_CALLS = 10_000;
const HOST = '127.0.0.1';

/** The largest message that a server takes. */
const MAX_MESSAGE_SIZE = 16 * 1024 * 1024;

/**
 * An EventStoreDB node in this process: the real protocol, with a store that tests can look into,
 * and faults that they can switch.
 */
export class EventStoreDbDouble {
  readonly store: EventStore;
  readonly faults: Faults;
  readonly #calls = new Map<MethodName, number>();
  readonly #requests: IncomingCall[] = [];
  readonly #open = new Set<OutgoingEvents>();
  readonly #server = new Server({ 'grpc.max_receive_message_length': MAX_MESSAGE_SIZE });
  readonly #front: TcpProxy;
  readonly #tls: boolean;
  #behind = 0;

  constructor(private readonly options: DoubleOptions) {
    this.store = options.store ?? new EventStore();
    this.#tls = options.tls !== undefined;
    this.#front = new TcpProxy(() => ({ host: HOST, port: this.#behind }), options.port);
    this.faults = new Faults((name, on) => {
      if (name === 'hung') this.#front[on ? 'freeze' : 'thaw']();
    });
  }

  get port(): number {
    return this.#front.port;
  }

  get endpoint(): Endpoint {
    return { address: HOST, port: this.port };
  }

  /** A connection string for the client. */
  get url(): string {
    return `esdb://${HOST}:${this.port}?tls=${this.#tls}`;
  }

  /** How often each method was called since the start. */
  get calls(): Readonly<Record<MethodName, number>> {
    const count = (method: MethodName): number => this.#calls.get(method) ?? 0;
    return {
      append: count('append'),
      read: count('read'),
      subscribe: count('subscribe'),
      gossip: count('gossip'),
      supportedMethods: count('supportedMethods'),
    };
  }

  /** The newest calls, oldest first, with their headers. */
  get requests(): readonly IncomingCall[] {
    return this.#requests;
  }

  /** How many reads and subscriptions are being answered. */
  get openReads(): number {
    return this.#open.size;
  }

  /** How many subscriptions are open. */
  get subscriptions(): number {
    return [...this.#open].filter(({ incoming }) => incoming.method === 'subscribe').length;
  }

  /** Whether the process lives; a node that hangs does. */
  get running(): boolean {
    return this.#front.open;
  }

  /** Connections of clients that are open now. */
  get connections(): number {
    return this.#front.connections;
  }

  async start(): Promise<void> {
    const cluster = this.options.cluster ?? this.#alone();
    this.#addServices(cluster);
    const { tls } = this.options;
    const credentials = tls
      ? ServerCredentials.createSsl(null, [
          { private_key: Buffer.from(tls.key), cert_chain: Buffer.from(tls.cert) },
        ])
      : ServerCredentials.createInsecure();
    this.#behind = await new Promise<number>((resolve, reject) => {
      this.#server.bindAsync(`${HOST}:0`, credentials, (error, port) =>
        error ? reject(error) : resolve(port),
      );
    });
    await this.#front.listen();
  }

  /**
   * Ends it as kill -9 does: connections break, new ones are refused, and nothing that is under way
   * is carried out any more.
   */
  async kill(): Promise<void> {
    await this.#front.close();
  }

  /** Starts again at the same port, with all that was stored. */
  async restart(): Promise<void> {
    this.faults.clear('hung');
    // What had reached it before the kill is looked at, and dropped, before it takes calls again.
    for (let turn = 0; turn < 5; turn += 1) await breathe();
    await this.#front.listen();
  }

  /** Killed, and started again with no more than the first events of its log. */
  async loseTail(left: number): Promise<void> {
    await this.kill();
    this.store.loseTail(left);
    await this.restart();
  }

  /** Breaks all connections once. */
  cutConnections(): void {
    this.#front.cut();
  }

  /** Ends all reads and subscriptions that are open, without an error. */
  endOpenStreams(): void {
    for (const out of [...this.#open]) out.end();
  }

  /** Stores events without a call. @returns the revision of the last one. */
  storedBehindTheBack(stream: string, events: readonly ForeignEvent[]): number {
    const last = this.store.lastRevision(stream);
    const outcome = this.store.append(
      stream,
      last,
      events.map((event) =>
        proposedEvent({ ...event, id: event.id ?? randomUUID(), data: event.data ?? {} }),
      ),
    );
    if (outcome.kind !== 'stored') throw new Error(`not stored in ${stream}: ${outcome.kind}`);
    return outcome.revision;
  }

  async stop(): Promise<void> {
    await this.#front.close();
    this.#server.forceShutdown();
  }

  #addServices(cluster: ClusterView): void {
    const node = this.#node(cluster);
    const gossip: IGossipServer = { read: (call, answer) => void readGossip(node, call, answer) };
    const features: IServerFeaturesServer = {
      getSupportedMethods: (call, answer) => void supportedMethods(node, call, answer),
    };
    this.#server.addService(streamsService.StreamsService, {
      append: (call: AppendCall, answer: AppendAnswer) => append(node, call, answer),
      read: (call: ReadCall) => void read(node, call),
    });
    this.#server.addService(gossipService.GossipService, gossip);
    this.#server.addService(featuresService.ServerFeaturesService, features);
  }

  #node(cluster: ClusterView): ServedNode {
    const { users } = this.options;
    return {
      store: this.store,
      faults: this.faults,
      cluster,
      users: users && new Map(Object.entries(users)),
      alive: () => this.running,
      cutConnections: () => this.#front.cut(),
      opened: (out) => {
        this.#open.add(out);
        out.onOver(() => this.#open.delete(out));
      },
      record: (call) => {
        this.#calls.set(call.method, this.calls[call.method] + 1);
        this.#requests.push(call);
        if (this.#requests.length > REMEMBERED_CALLS)
          this.#requests.splice(0, REMEMBERED_CALLS / 2);
      },
    };
  }

  #alone(): ClusterView {
    const instanceId = randomUUID();
    return {
      state: () => 'leader',
      leader: () => this.endpoint,
      members: () => [{ instanceId, state: 'leader', alive: true, endpoint: this.endpoint }],
      visible: () => Number.POSITIVE_INFINITY,
      writable: () => Promise.resolve(),
    };
  }
}

export async function startEventStoreDbDouble(
  options: DoubleOptions = {},
): Promise<EventStoreDbDouble> {
  const double = new EventStoreDbDouble(options);
  await double.start();
  return double;
}
