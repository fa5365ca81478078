import {
  breakOf,
  divergence,
  type BreakReason,
  type ChainBreak,
  type Divergence,
  type Elsewhere,
  type FoundEvent,
} from '../../chain/chain-break.js';
import { markOf, nextLink, type ChainLink } from '../../chain/chain-link.js';
import type { SealStore, StoredSeal } from '../../chain/chain-seals.js';
import type { EventLog, Position, RecordedEvent } from '../../event-log/event-log.js';
import { LogReader, type Patience } from '../log/log-reader.js';

/** A chain that is searched for its break. */
export interface SearchedChain {
  readonly log: EventLog;
  readonly seals: SealStore;
  readonly chain: string;
  readonly isOwn: (stream: string) => boolean;
  /** The end of the sealed part of the log. */
  readonly upTo: Position | null;
  readonly patience: Patience;
}

/**
 * Finds the first event under a seal that differs from its sealed state. The events are read a
 * second time: keeping them during every verification would make it take half as long again.
 * @param since the last link that agreed with its seal.
 * @param otherwise the reason when the seal's own list shows no difference.
 */
export async function findBreak(
  searched: SearchedChain,
  since: ChainLink,
  seal: StoredSeal,
  otherwise: BreakReason,
): Promise<ChainBreak> {
  const sealed = await searched.seals.eventsUnder(seal);
  const found = await foundUnder(searched, since, seal);
  const diverged = divergence(sealed, found);
  if (diverged === undefined) return { position: seal.position, eventId: null, reason: otherwise };
  return breakOf(diverged, await elsewhere(searched, since.position, diverged));
}

/** The events that the seal lists, as the log has them now. */
async function foundUnder(
  searched: SearchedChain,
  since: ChainLink,
  { events, count }: StoredSeal,
): Promise<readonly FoundEvent[]> {
  const found: FoundEvent[] = [];
  let link = since;
  for await (const event of ownEvents(searched, since.position)) {
    link = nextLink(link, event);
    if (link.events > events - count)
      found.push({ id: event.id, position: event.position, mark: markOf(link) });
    if (link.events >= events) break;
  }
  return found;
}

async function elsewhere(
  searched: SearchedChain,
  from: Position | null,
  { sealed, found }: Divergence,
): Promise<Elsewhere> {
  const isFoundSealed =
    found !== undefined && (await searched.seals.isSealed(searched.chain, found.id));
  if (sealed === undefined || found === undefined || found.id === sealed.id)
    return { isSealedFound: false, isFoundSealed };
  for await (const { id } of ownEvents(searched, from))
    if (id === sealed.id) return { isSealedFound: true, isFoundSealed };
  return { isSealedFound: false, isFoundSealed };
}

async function* ownEvents(
  { log, patience, upTo, isOwn }: SearchedChain,
  after: Position | null,
): AsyncGenerator<RecordedEvent, void, undefined> {
  const reader = new LogReader(log, patience, upTo, after ?? undefined);
  for await (const page of reader.pages())
    for (const event of page) if (isOwn(event.stream)) yield event;
}
