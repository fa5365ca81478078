import type { BreakReason, ChainBreak } from '../../chain/chain-break.js';
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
  const { ids, positions, marks } = await searched.seals.eventsUnder(seal);
  const events = await foundUnder(searched, since, seal);
  const places = Array.from({ length: Math.max(ids.length, events.length) }, (_, place) => place);
  const first = places.find(
    (place) => events[place]?.mark !== marks[place] || events[place]?.id !== ids[place],
  );
  if (first === undefined) return { position: seal.position, eventId: null, reason: otherwise };
  const [eventId, position, found] = [ids[first], positions[first], events[first]];
  const inserted = { position: found?.position ?? null, eventId: found?.id ?? null };
  if (eventId === undefined || position === undefined) return { ...inserted, reason: 'inserted' };
  const sealed = { position, eventId };
  if (found === undefined) return { ...sealed, reason: 'removed' };
  if (found.id === eventId) return { ...sealed, reason: 'changed' };
  const isFoundSealed = await searched.seals.isSealed(searched.chain, found.id);
  for await (const { id } of ownEvents(searched, since.position)) {
    if (id !== eventId) continue;
    return isFoundSealed ? { ...sealed, reason: 'reordered' } : { ...inserted, reason: 'inserted' };
  }
  // Another event in the same place: the change includes the id.
  const isInPlace = !isFoundSealed && found.position === position;
  return { ...sealed, reason: isInPlace ? 'changed' : 'removed' };
}

/** The events that the seal lists, as the log has them now. */
async function foundUnder(searched: SearchedChain, since: ChainLink, seal: StoredSeal) {
  const found = [];
  let link = since;
  for await (const event of ownEvents(searched, since.position)) {
    link = nextLink(link, event);
    const { id, position } = event;
    if (link.events > seal.events - seal.count) found.push({ id, position, mark: markOf(link) });
    if (link.events >= seal.events) break;
  }
  return found;
}

async function* ownEvents(
  { log, patience, upTo, isOwn }: SearchedChain,
  after: Position | null,
): AsyncGenerator<RecordedEvent, void, undefined> {
  const reader = new LogReader(log, patience, upTo, after ?? undefined);
  for await (const page of reader.pages())
    for (const event of page) if (isOwn(event.stream)) yield event;
}
