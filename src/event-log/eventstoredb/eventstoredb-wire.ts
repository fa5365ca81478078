import { readFileSync } from 'node:fs';
import { connectivityState } from '@grpc/grpc-js';
import { EventStoreDBClient } from '@eventstore/db-client';
import shared from '@eventstore/db-client/generated/shared_pb.js';
import streamsService from '@eventstore/db-client/generated/streams_grpc_pb.js';
import streams from '@eventstore/db-client/generated/streams_pb.js';
import type { ExpectedRevision, NewEvent } from '../event-log.js';
import { PAGE_BYTES_MAX, storedBytes } from '../event-pages.js';
import type { EventStoreAddress } from '../../config/event-store-url.js';
import { ConnectionChanged, NoAnswer } from './eventstoredb-failures.js';

/** Commit and prepare position of an event. */
export interface WirePosition {
  readonly commit: bigint;
  readonly prepare: bigint;
}

/** Texts are the bytes as UTF-8, not parsed. */
export interface WireEvent extends NewEvent {
  readonly stream: string;
  readonly revision: bigint;
  readonly position: WirePosition;
  /** Epoch milliseconds of the server's clock. */
  readonly createdAt: number;
}

export type WireAppendResult =
  | { readonly kind: 'appended'; readonly revision: bigint; readonly position: WirePosition }
  | { readonly kind: 'conflict'; readonly actual: ExpectedRevision };

export interface WirePage {
  readonly events: readonly WireEvent[];
  /**
   * The server reported that the stream ends here or does not exist. Otherwise a short page may be
   * incomplete, since a cancelled call ends the same way. Current servers report the end of a
   * stream, and none reports that of the whole log.
   */
  readonly isEndNamed: boolean;
  /** Cut for its size: more events may follow. */
  readonly isCut: boolean;
}

export interface WireRead {
  /** One stream; or the whole log, all of it (`null`) or streams with one of these prefixes. */
  readonly of:
    | { readonly stream: string; readonly from: bigint | 'end' }
    | {
        readonly prefixes: readonly string[] | null;
        readonly from: WirePosition | 'start' | 'end';
      };
  readonly backwards?: boolean;
  readonly count: number;
}

type ReadCall = ReturnType<InstanceType<typeof streamsService.StreamsClient>['read']>;

const TICKS_PER_MS = 10_000n;

/**
 * The client with own calls on its connection. The public calls parse payloads and drop the bytes,
 * have no deadline on reads and no filter on the whole log, and append over one shared stream where
 * one failure rejects all. Used from it: discovery, following the leader, TLS, credentials, the
 * generated messages.
 */
export class EventStoreDbWire extends EventStoreDBClient {
  private connection: 'any' | 'the current one' | 'gone' = 'any';

  constructor(address: EventStoreAddress) {
    super(...clientArguments(address));
    const onError = this.handleError;
    // Not awaited: the handler awaits the next connection, and its rejection would end the process.
    this.handleError = async (client, error) => onError(client, error).catch(() => undefined);
  }

  /** Of the server; `unknown` when it does not report it. */
  async serverVersion(): Promise<string> {
    return (await this.capabilities).serverVersion;
  }

  /** True: the next connection may lead to a node that lacks the log's end. */
  get isConnectionGone(): boolean {
    return this.connection === 'gone';
  }

  /** Appends use the current connection only from now on. @throws {NoAnswer} when there is none. */
  async keepToConnection(): Promise<void> {
    const channel = await this.getChannel();
    if (channel.getConnectivityState(false) !== connectivityState.READY)
      throw new NoAnswer('the connection is gone');
    this.connection = 'the current one';
    // Called once, at the next change of state, closing included.
    channel.watchConnectivityState(connectivityState.READY, Infinity, () => {
      this.connection = 'gone';
    });
  }

  /**
   * A classic append with its own call and deadline, refused by a node that does not lead.
   * @param deadlineMs counts from now.
   * @throws {ConnectionChanged} with nothing sent.
   */
  append(
    stream: string,
    expected: ExpectedRevision,
    events: readonly NewEvent[],
    deadlineMs: number,
  ): Promise<WireAppendResult> {
    const messages = [appendHeader(stream, expected), ...events.map(appendMessage)];
    return this.execute(
      streamsService.StreamsClient,
      'append',
      (client) =>
        new Promise<WireAppendResult>((resolve, reject) => {
          if (this.isConnectionGone) throw new ConnectionChanged();
          const call = client.append(
            ...this.callArguments({ requiresLeader: true, deadline: deadlineMs }),
            (error, answer) => {
              const result = error ?? appendResult(answer);
              if ('kind' in result) resolve(result);
              else reject(result);
            },
          );
          call.on('error', reject);
          for (const message of messages) call.write(message);
          call.end();
        }),
    );
  }

  /**
   * One page in the order of the query; empty for a missing stream.
   * @param silenceMs after this time without a message `isAlive` is called; without it, or when it
   * fails, the read is abandoned.
   */
  async read(
    query: WireRead,
    silenceMs: number,
    isAlive?: () => Promise<unknown>,
  ): Promise<WirePage> {
    const call = await this.openRead(readRequest(query));
    const found: WireEvent[] = [];
    let timer: NodeJS.Timeout | undefined;
    let hasEnded = false;
    let isEndNamed = false;
    let isCut = false;
    let bytes = 0;
    try {
      await new Promise<void>((resolve, reject) => {
        const quiet = (): void => {
          if (isAlive === undefined) reject(new NoAnswer('a read stayed silent'));
          else isAlive().then(listen, reject);
        };
        const listen = (): void => {
          clearTimeout(timer);
          timer = setTimeout(quiet, silenceMs);
        };
        listen();
        call.on('data', (answer: streams.ReadResp) => {
          if (isCut) return;
          listen();
          const event = answer.getEvent()?.getEvent();
          if (event !== undefined) {
            const read = wireEvent(event);
            found.push(read);
            bytes += storedBytes(read);
          }
          isEndNamed ||= answer.hasLastStreamPosition() || answer.hasStreamNotFound();
          isCut = bytes >= PAGE_BYTES_MAX;
          if (isCut) resolve();
        });
        call.on('error', reject);
        call.on('end', () => {
          hasEnded = true;
          resolve();
        });
        // Cancelled by the server or by a lost connection, without an error.
        call.on('close', () => reject(new NoAnswer('a read was closed before its end')));
      });
      return { events: found, isEndNamed, isCut };
    } finally {
      clearTimeout(timer);
      if (!hasEnded) cancel(call);
    }
  }

  /** Every new event of these streams until `cancel`, an error or the end. */
  async subscribe(
    prefix: string,
    on: {
      readonly confirmed: () => void;
      readonly event: (position: WirePosition) => void;
      readonly ended: (error: unknown) => void;
    },
  ): Promise<() => void> {
    const call = await this.openRead(subscriptionRequest(prefix));
    let isOver = false;
    const over = (error: unknown): void => {
      if (isOver) return;
      isOver = true;
      cancel(call);
      on.ended(error);
    };
    call.on('data', (answer: streams.ReadResp) => {
      if (isOver) return;
      if (answer.hasConfirmation()) on.confirmed();
      const event = answer.getEvent()?.getEvent();
      if (event !== undefined) on.event(positionOf(event));
    });
    call.on('error', over);
    call.on('end', () => over(undefined));
    call.on('close', () => over(undefined));
    return () => {
      isOver = true;
      cancel(call);
    };
  }

  /** Ends the running calls and closes the connection. */
  async close(): Promise<void> {
    await this.dispose();
    const channel = await this.getChannel();
    channel.close();
  }

  private openRead(request: streams.ReadReq): Promise<ReadCall> {
    return this.GRPCStreamCreator(streamsService.StreamsClient, 'read', (client) =>
      client.read(request, ...this.callArguments({ requiresLeader: true }, { deadline: Infinity })),
    )();
  }
}

/** Deferred: grpc-js throws for a cancellation while it handles a message. */
function cancel(call: ReadCall): void {
  call.on('error', () => undefined);
  setImmediate(() => call.cancel());
}

function clientArguments({
  discover,
  hosts,
  credentials,
  tls,
  tlsCAFile,
  userCertFile,
  userKeyFile,
  connectionName,
  keepAliveInterval,
  keepAliveTimeout,
  maxDiscoverAttempts = 3,
  discoveryInterval,
  gossipTimeout = 1,
}: EventStoreAddress) {
  const [endpoint] = hosts;
  const settings = {
    ...(discover ? { discover: endpoint } : hosts.length > 1 ? { endpoints: hosts } : { endpoint }),
    connectionName,
    keepAliveInterval,
    keepAliveTimeout,
    maxDiscoverAttempts,
    discoveryInterval,
    gossipTimeout,
  };
  const security = {
    insecure: !tls,
    ...(tlsCAFile === undefined ? {} : { rootCertificate: readFileSync(tlsCAFile) }),
    ...(userCertFile === undefined ? {} : { userCertFile: readFileSync(userCertFile) }),
    ...(userKeyFile === undefined ? {} : { userKeyFile: readFileSync(userKeyFile) }),
  };
  return [settings, security, credentials] as unknown as ConstructorParameters<
    typeof EventStoreDBClient
  >;
}

function appendHeader(stream: string, expected: ExpectedRevision): streams.AppendReq {
  const options = new streams.AppendReq.Options().setStreamIdentifier(identifier(stream));
  if (expected === 'no-stream') options.setNoStream(new shared.Empty());
  else options.setRevision(expected.toString());
  return new streams.AppendReq().setOptions(options);
}

function appendMessage({ id, type, data, metadata }: NewEvent): streams.AppendReq {
  const message = new streams.AppendReq.ProposedMessage();
  message.setId(new shared.UUID().setString(id));
  // Lets the server show the event as JSON and its projections read it; the bytes are unchanged.
  message.getMetadataMap().set('type', type).set('content-type', 'application/json');
  message.setData(bytes(data));
  if (metadata !== '') message.setCustomMetadata(bytes(metadata));
  return new streams.AppendReq().setProposedMessage(message);
}

function appendResult(answer: streams.AppendResp): WireAppendResult | Error {
  const conflict = answer.getWrongExpectedVersion();
  if (conflict !== undefined) {
    return {
      kind: 'conflict',
      actual: conflict.hasCurrentRevision() ? BigInt(conflict.getCurrentRevision()) : 'no-stream',
    };
  }
  const success = answer.getSuccess();
  const position = success?.getPosition();
  if (success === undefined || position === undefined)
    return new Error('EventStoreDB accepted an append and did not say where it is');
  return {
    kind: 'appended',
    revision: BigInt(success.getCurrentRevision()),
    position: {
      commit: BigInt(position.getCommitPosition()),
      prepare: BigInt(position.getPreparePosition()),
    },
  };
}

function readRequest({ of, backwards = false, count }: WireRead): streams.ReadReq {
  const options = readOptions()
    .setReadDirection(backwards ? 1 : 0)
    .setCount(String(count));
  if ('stream' in of) {
    const stream = new streams.ReadReq.Options.StreamOptions().setStreamIdentifier(
      identifier(of.stream),
    );
    // The server then returns the stream's last revision after the events.
    options
      .setControlOption(new streams.ReadReq.Options.ControlOption().setCompatibility(1))
      .setStream(
        of.from === 'end'
          ? stream.setEnd(new shared.Empty())
          : stream.setRevision(of.from.toString()),
      )
      .setNoFilter(new shared.Empty());
  } else {
    options.setAll(allFrom(of.from));
    if (of.prefixes === null) options.setNoFilter(new shared.Empty());
    else options.setFilter(streamPrefixes(of.prefixes));
  }
  return new streams.ReadReq().setOptions(options);
}

function subscriptionRequest(prefix: string): streams.ReadReq {
  const options = readOptions()
    .setReadDirection(0)
    .setAll(allFrom('end'))
    .setFilter(streamPrefixes([prefix]))
    .setSubscription(new streams.ReadReq.Options.SubscriptionOptions());
  return new streams.ReadReq().setOptions(options);
}

function readOptions(): streams.ReadReq.Options {
  return new streams.ReadReq.Options()
    .setResolveLinks(false)
    .setUuidOption(new streams.ReadReq.Options.UUIDOption().setString(new shared.Empty()));
}

function allFrom(from: WirePosition | 'start' | 'end'): streams.ReadReq.Options.AllOptions {
  const all = new streams.ReadReq.Options.AllOptions();
  if (from === 'start') return all.setStart(new shared.Empty());
  if (from === 'end') return all.setEnd(new shared.Empty());
  return all.setPosition(
    new streams.ReadReq.Options.Position()
      .setCommitPosition(from.commit.toString())
      .setPreparePosition(from.prepare.toString()),
  );
}

/** Searched events between checkpoints: rare, since checkpoints are not used. */
const CHECKPOINT_EVERY = 1_000;

function streamPrefixes(prefixes: readonly string[]): streams.ReadReq.Options.FilterOptions {
  return new streams.ReadReq.Options.FilterOptions()
    .setStreamIdentifier(
      new streams.ReadReq.Options.FilterOptions.Expression().setPrefixList([...prefixes]),
    )
    .setCount(new shared.Empty())
    .setCheckpointintervalmultiplier(CHECKPOINT_EVERY);
}

const identifier = (stream: string): shared.StreamIdentifier =>
  new shared.StreamIdentifier().setStreamName(Buffer.from(stream).toString('base64'));

/** The generated messages accept plain arrays of bytes only, not Buffers. */
const bytes = (text: string): Uint8Array => {
  const buffer = Buffer.from(text);
  return new Uint8Array(buffer.buffer, buffer.byteOffset, buffer.byteLength);
};

const utf8 = (array: Uint8Array): string =>
  Buffer.from(array.buffer, array.byteOffset, array.byteLength).toString();

const positionOf = (event: streams.ReadResp.ReadEvent.RecordedEvent): WirePosition => ({
  commit: BigInt(event.getCommitPosition()),
  prepare: BigInt(event.getPreparePosition()),
});

function wireEvent(event: streams.ReadResp.ReadEvent.RecordedEvent): WireEvent {
  const named = event.getMetadataMap();
  return {
    id: event.getId()?.getString() ?? '',
    type: named.get('type') ?? '',
    data: utf8(event.getData_asU8()),
    metadata: utf8(event.getCustomMetadata_asU8()),
    stream: utf8(event.getStreamIdentifier()?.getStreamName_asU8() ?? new Uint8Array()),
    revision: BigInt(event.getStreamRevision()),
    position: positionOf(event),
    createdAt: Number(BigInt(named.get('created') ?? 0) / TICKS_PER_MS),
  };
}
