import {
  binaryEvent,
  type AllStreamSubscription,
  EventStoreDBClient,
  jsonEvent,
  type AppendResult,
  type AppendToStreamOptions,
  type EventData,
  type StreamSubscription,
} from '@eventstore/db-client';
import { randomUUID } from 'node:crypto';
import { type EventStoreDbCluster } from '../../support/eventstoredb-double/cluster.js';
import { type EventStoreDbDouble } from '../../support/eventstoredb-double/double.js';

/**
 * Where rows meet a server. Names of streams are unique per run, so that a server that others use,
 * too, will do.
 */
export interface Meeting {
  readonly url: string;
  readonly client: EventStoreDBClient;
  stream(name: string): string;
  /**
   * Another client, disposed of at the end; the query is what its connection string says more, with
   * & in front.
   */
  newClient(query?: string): EventStoreDBClient;
}

export interface RowOfServer {
  readonly needs: 'server';
  readonly name: string;
  /** Of release 23.10, which the double is held to. */
  readonly expected: unknown;
  /** Of release 24.10, where it differs. */
  readonly expectedIn24?: unknown;
  run(meeting: Meeting): Promise<unknown>;
}

/**
 * A row that a server of one's own cannot be asked to play; `because` is printed where it is left
 * out.
 */
export interface RowOfFaults {
  readonly needs: 'faults';
  readonly name: string;
  readonly because: string;
  readonly expected: unknown;
  run(meeting: Meeting, double: EventStoreDbDouble): Promise<unknown>;
}

export interface RowOfCluster {
  readonly needs: 'cluster';
  readonly name: string;
  readonly because: string;
  readonly expected: unknown;
  run(cluster: EventStoreDbCluster): Promise<unknown>;
}

/** One line of the table: what is done, and what comes of it. */
export type BehaviourRow = RowOfServer | RowOfFaults | RowOfCluster;

/** Rows of one kind of behaviour. */
export interface BehaviourSection {
  readonly title: string;
  readonly rows: readonly BehaviourRow[];
}

export function newMeeting(url: string): Meeting & { dispose(): Promise<void> } {
  const clients: EventStoreDBClient[] = [];
  const run = randomUUID().slice(0, 8);
  const newClient = (query = ''): EventStoreDBClient => {
    const client = EventStoreDBClient.connectionString(
      url.includes('?') ? `${url}${query}` : `${url}?${query.replace(/^&/, '')}`,
    );
    clients.push(client);
    return client;
  };
  return {
    url,
    client: newClient(),
    newClient,
    stream: (name) => `behaviour-${run}-${name}`,
    dispose: async () => void (await Promise.all(clients.map((client) => client.dispose()))),
  };
}

export interface Append {
  readonly to: string;
  readonly events: EventData[];
  readonly expected?: AppendToStreamOptions['expectedRevision'];
  readonly deadline?: number;
  readonly requiresLeader?: boolean;
}

/** Appends as the service does: with credentials the client makes a call of each append. */
export function appendEvents(
  client: EventStoreDBClient,
  { to, events, expected, ...options }: Append,
): Promise<AppendResult> {
  return client.appendToStream(to, events, {
    ...options,
    ...(expected === undefined ? {} : { expectedRevision: expected }),
    credentials: { username: 'admin', password: 'changeit' },
  });
}

export const event = (
  type = 'Happened',
  id: string = randomUUID(),
  data: Record<string, unknown> = {},
): EventData => jsonEvent({ id, type, data });

export const events = (count: number, type = 'Happened'): EventData[] =>
  Array.from({ length: count }, () => event(type));

export const bytesOf = (size: number): EventData =>
  binaryEvent({ type: 'Bytes', data: Buffer.alloc(size, 1) });

/** What a promise came to: its value, or what of its error an application can go by. */
export async function outcomeOf<T>(promise: Promise<T>): Promise<T | Refusal> {
  try {
    return await promise;
  } catch (error) {
    return refusalOf(error);
  }
}

export type Refusal = { readonly refused: string } & Readonly<Record<string, unknown>>;

const TOLD = [
  'code',
  'streamName',
  'expectedVersion',
  'actualVersion',
  'maxAppendSize',
  'leader',
] as const;

export function refusalOf(error: unknown): Refusal {
  if (!(error instanceof Error)) return { refused: 'no error' };
  const members = new Map<string, unknown>(Object.entries(error));
  const told = TOLD.filter((name) => members.get(name) !== undefined).map(
    (name) => [name, members.get(name)] as const,
  );
  const type = members.get('type');
  return {
    refused: typeof type === 'string' ? type : 'without a type',
    ...Object.fromEntries(told),
  };
}

/** Everything that a read hands over. */
export async function all<T>(read: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const one of read) found.push(one);
  return found;
}

/**
 * What a subscription says, in order, as words: confirmation, the types of its events, caughtUp,
 * the type of its error, end, close.
 */
export function wordsOf(subscription: StreamSubscription | AllStreamSubscription): string[] {
  const words: string[] = [];
  subscription.on('confirmation', () => words.push('confirmation'));
  subscription.on('data', (resolved) => words.push(resolved.event?.type ?? 'nothing'));
  subscription.on('caughtUp', () => words.push('caughtUp'));
  subscription.on('error', (error: unknown) => words.push(`error ${refusalOf(error).refused}`));
  subscription.on('end', () => words.push('end'));
  subscription.on('close', () => words.push('close'));
  return words;
}
