import { randomUUID } from 'node:crypto';
import { EventStoreDbDouble, type DoubleOptions } from './double.js';
import { type Member, type NodeState } from './node.js';
import { EventStore } from './store.js';

export type ClusterOptions = Omit<DoubleOptions, 'store' | 'cluster' | 'port'> & {
  readonly nodes?: number;
  /** Of the nodes. Default: free ones. */
  readonly ports?: readonly number[];
};

/** Nodes over one log: one leads, the others forward writes, and may lag on request. */
export class EventStoreDbCluster {
  readonly store = new EventStore();
  readonly nodes: readonly EventStoreDbDouble[];
  readonly #ids: readonly string[];
  /** How many events a follower that lags has; the others have all. */
  readonly #lag = new Map<EventStoreDbDouble, number>();
  readonly #hung = new Set<EventStoreDbDouble>();
  readonly #waiting: (() => void)[] = [];
  #leader: EventStoreDbDouble | undefined;

  constructor({ nodes = 3, ports = [], ...options }: ClusterOptions) {
    this.#ids = Array.from({ length: nodes }, () => randomUUID());
    this.nodes = this.#ids.map((_id, place) => {
      const self = (): EventStoreDbDouble => this.#at(place);
      return new EventStoreDbDouble({
        ...options,
        port: ports[place],
        store: this.store,
        cluster: {
          state: () => this.#stateOf(self()),
          leader: () => this.#leader?.endpoint,
          members: () => this.members,
          visible: () => this.#lag.get(self()) ?? Number.POSITIVE_INFINITY,
          writable: () => this.#writable(),
        },
      });
    });
    this.#leader = this.nodes[0];
  }

  /** A connection string that names all nodes, so that the client asks for the leader first. */
  get url(): string {
    return `esdb://${this.nodes.map(({ port }) => `127.0.0.1:${port}`).join(',')}?tls=false`;
  }

  get leader(): EventStoreDbDouble | undefined {
    return this.#leader;
  }

  get followers(): readonly EventStoreDbDouble[] {
    return this.nodes.filter((node) => node !== this.#leader);
  }

  /** What the gossip says. A leader that hangs is still named, as long as no other was elected. */
  get members(): readonly Member[] {
    return this.nodes.map((node, place) => ({
      instanceId: this.#ids[place] ?? '',
      state: this.#stateOf(node),
      alive: node.running,
      endpoint: node.endpoint,
    }));
  }

  async start(): Promise<void> {
    for (const node of this.nodes) await node.start();
  }

  /** Makes this node the leader; without one, the first that lives and does not hang. */
  elect(
    node: EventStoreDbDouble | undefined = this.nodes.find(
      (one) => one.running && !this.#hung.has(one),
    ),
  ): void {
    this.#leader = node;
    this.#tellWaiting();
  }

  /** Ends the leader as kill -9 does. There is no leader until one is elected. */
  async killLeader(): Promise<EventStoreDbDouble> {
    const killed = this.#leader;
    if (!killed) throw new Error('there is no leader to kill');
    this.#leader = undefined;
    await killed.kill();
    return killed;
  }

  /** The leader does not answer, which the others do not know: forwarded calls wait. */
  hangLeader(): EventStoreDbDouble {
    const hung = this.#leader;
    if (!hung) throw new Error('there is no leader to hang');
    hung.faults.set('hung');
    this.#hung.add(hung);
    return hung;
  }

  /** Lets a node go on that hung. */
  resume(node: EventStoreDbDouble): void {
    this.#hung.delete(node);
    node.faults.clear('hung');
    this.#tellWaiting();
  }

  /** From now on this node shows what it has, and nothing newer. */
  lag(node: EventStoreDbDouble): void {
    this.#lag.set(node, this.store.size);
  }

  async stop(): Promise<void> {
    for (const node of this.nodes) await node.stop();
  }

  #at(place: number): EventStoreDbDouble {
    const node = this.nodes[place];
    if (!node) throw new Error(`there is no node ${place}`);
    return node;
  }

  #stateOf(node: EventStoreDbDouble): NodeState {
    if (!node.running) return 'shutdown';
    if (!this.#leader) return 'unknown';
    return node === this.#leader ? 'leader' : 'follower';
  }

  /** Writes need a leader that answers and more than half of the nodes. */
  async #writable(): Promise<void> {
    const canWrite = (): boolean => {
      const alive = this.nodes.filter((node) => node.running && !this.#hung.has(node));
      return (
        this.#leader !== undefined &&
        alive.includes(this.#leader) &&
        alive.length > this.nodes.length / 2
      );
    };
    while (!canWrite()) await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }

  #tellWaiting(): void {
    for (const resolve of this.#waiting.splice(0)) resolve();
  }
}

export async function startEventStoreDbCluster(
  options: ClusterOptions = {},
): Promise<EventStoreDbCluster> {
  const cluster = new EventStoreDbCluster(options);
  await cluster.start();
  return cluster;
}
