import { type Metadata, type ServiceError } from '@grpc/grpc-js';
import { setTimeout as delay } from 'node:timers/promises';
import { type FaultOptions, type Faults, type IncomingCall, type MethodName } from './faults.js';
import { type OutgoingEvents } from './outgoing-events.js';
import { accessDenied, notLeader, serverNotReady, unauthenticated } from './rpc-errors.js';
import { type EventStore } from './store.js';

export interface Endpoint {
  readonly address: string;
  readonly port: number;
}

/** States as the gossip names them. */
export type NodeState = 'leader' | 'follower' | 'unknown' | 'shutdown';

export interface Member {
  readonly instanceId: string;
  readonly state: NodeState;
  readonly alive: boolean;
  readonly endpoint: Endpoint;
}

/** What a node knows of its cluster. A node on its own is its own leader. */
export interface ClusterView {
  state(): NodeState;
  leader(): Endpoint | undefined;
  members(): readonly Member[];
  /** How many events of the log this node has by now. */
  visible(): number;
  /** Settles when the leader can take writes: not while it hangs, or too few nodes are left. */
  writable(): Promise<void>;
}

/** One server, as its services see it. */
export interface ServedNode {
  readonly store: EventStore;
  readonly faults: Faults;
  readonly cluster: ClusterView;
  readonly users: ReadonlyMap<string, string> | undefined;
  /** False after a kill: what still arrives is not carried out. */
  alive(): boolean;
  cutConnections(): void;
  /** Called with every read and subscription in progress. */
  opened(out: OutgoingEvents): void;
  record(call: IncomingCall): void;
}

/** What becomes of a call before anything is carried out. */
export type Admission =
  | { readonly kind: 'admitted' }
  | { readonly kind: 'refused'; readonly error: ServiceError }
  /** Neither carried out nor answered. */
  | { readonly kind: 'dropped' };

export function incomingCall(
  method: MethodName,
  metadata: Metadata,
  stream?: string,
): IncomingCall {
  const headers = Object.fromEntries(
    Object.entries(metadata.getMap()).map(([name, value]) => [name, value.toString()]),
  );
  return { method, headers, stream };
}

const dropped: Admission = { kind: 'dropped' };
const refused = (error: ServiceError): Admission => ({ kind: 'refused', error });

/** Notes the call, and decides whether it is executed. */
export function admit(node: ServedNode, call: IncomingCall): Admission {
  if (!node.alive()) return dropped;
  node.record(call);
  if (node.faults.strike('connection-cut', call)) {
    node.cutConnections();
    return dropped;
  }
  if (node.faults.strike('hung', call)) return dropped;
  const denied = authenticate(node, call);
  if (denied) return refused(denied);
  if (call.method === 'gossip' || call.method === 'supportedMethods') return { kind: 'admitted' };
  const notReady = node.faults.strike('not-ready', call);
  return notReady ? refused(serverNotReady(notReady.quote)) : atTheLeader(node, call);
}

function atTheLeader(node: ServedNode, call: IncomingCall): Admission {
  const leader = node.cluster.leader();
  const writes = call.method === 'append';
  const requiresLeader = call.headers['requires-leader'] === 'true';
  if (!leader) return writes || requiresLeader ? refused(serverNotReady()) : { kind: 'admitted' };
  if (!requiresLeader) return { kind: 'admitted' };
  if (node.faults.strike('not-leader', call)) return refused(notLeader(leader));
  return node.cluster.state() === 'leader' ? { kind: 'admitted' } : refused(notLeader(leader));
}

function authenticate({ users }: ServedNode, call: IncomingCall): ServiceError | undefined {
  // Discovery and capabilities are asked for before credentials are sent.
  if (!users || call.method === 'gossip' || call.method === 'supportedMethods') return undefined;
  const given = call.headers.authorization;
  if (given === undefined) return accessDenied();
  const [name = '', ...password] = Buffer.from(given.replace(/^Basic /, ''), 'base64')
    .toString('utf8')
    .split(':');
  return users.get(name) === password.join(':') ? undefined : unauthenticated();
}

/** Waits as an armed delay says; without one, does not wait. */
export async function waitFor(fault: FaultOptions | undefined): Promise<void> {
  if (fault?.until) await fault.until;
  if (fault?.ms !== undefined) await delay(fault.ms, undefined, { ref: false });
}
