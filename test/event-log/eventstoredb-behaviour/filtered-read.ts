import { credentials } from '@grpc/grpc-js';
import shared from '@eventstore/db-client/generated/shared_pb.js';
import streamsService from '@eventstore/db-client/generated/streams_grpc_pb.js';
import streams from '@eventstore/db-client/generated/streams_pb.js';

export interface FilteredRead {
  readonly on: 'stream' | 'type';
  readonly prefixes?: readonly string[];
  readonly regex?: string;
  readonly direction?: 'forwards' | 'backwards';
  /** A commit position; the start, or backwards the end, when absent. */
  readonly from?: bigint;
  readonly count?: number;
  readonly maxSearchWindow?: number;
}

/**
 * The types of the events that a filtered read of the whole log finds. The protocol has it, the
 * client offers it for subscriptions alone.
 */
export async function readAllFiltered(url: string, read: FilteredRead): Promise<string[]> {
  const client = new streamsService.StreamsClient(new URL(url).host, credentials.createInsecure());
  try {
    const found: string[] = [];
    const call = client.read(new streams.ReadReq().setOptions(optionsOf(read)));
    for await (const response of call as AsyncIterable<streams.ReadResp>) {
      const type = response.getEvent()?.getEvent()?.getMetadataMap().get('type');
      if (type !== undefined) found.push(type);
    }
    return found;
  } finally {
    client.close();
  }
}

function optionsOf({
  direction = 'forwards',
  count = 1_000,
  from,
  ...filter
}: FilteredRead): streams.ReadReq.Options {
  const all = new streams.ReadReq.Options.AllOptions();
  const position = from?.toString();
  if (position !== undefined) {
    all.setPosition(
      new streams.ReadReq.Options.Position()
        .setCommitPosition(position)
        .setPreparePosition(position),
    );
  } else if (direction === 'forwards') all.setStart(new shared.Empty());
  else all.setEnd(new shared.Empty());
  const { FORWARDS, BACKWARDS } = streams.ReadReq.Options.ReadDirection;
  return new streams.ReadReq.Options()
    .setAll(all)
    .setReadDirection(direction === 'forwards' ? FORWARDS : BACKWARDS)
    .setCount(String(count))
    .setUuidOption(new streams.ReadReq.Options.UUIDOption().setString(new shared.Empty()))
    .setFilter(filterOf(filter));
}

function filterOf({
  on,
  prefixes,
  regex,
  maxSearchWindow,
}: FilteredRead): streams.ReadReq.Options.FilterOptions {
  const expression = new streams.ReadReq.Options.FilterOptions.Expression();
  if (regex !== undefined) expression.setRegex(regex);
  if (prefixes) expression.setPrefixList([...prefixes]);
  const filter = new streams.ReadReq.Options.FilterOptions();
  if (on === 'stream') filter.setStreamIdentifier(expression);
  else filter.setEventType(expression);
  return maxSearchWindow === undefined
    ? filter.setCount(new shared.Empty())
    : filter.setMax(maxSearchWindow);
}
