import { POSTED_TYPES, type Entry, type PostedEvent } from '../../bookkeeping/postings.js';
import type { Core } from '../../stores/core.js';
import type { AccountRef, Scope } from '../../domain/scope.js';
import type { Decoded, EventCodec } from '../../event-log/codec.js';
import { effectiveTimeOf, shownActor, shownName } from '../../event-log/envelope.js';
import type {
  EventLog,
  Position,
  ReadStreamOptions,
  RecordedEvent,
} from '../../event-log/event-log.js';
import { logPages, pages } from '../../event-log/event-pages.js';
import { firstPosition } from '../../event-log/first-recorded.js';
import { accountNotFound } from '../outcome.js';
import type { OperationContext } from '../registry/context.js';
import type { Selection } from './ledger-selection.js';

export type LogReads = Pick<Core, 'log' | 'codec'>;

/** Long work: it reports its progress, lets requests come first and can be stopped. */
export type Work = Partial<Pick<OperationContext, 'signal' | 'pauseForRequests' | 'onProgress'>>;

/** The types of the events that postings are made of. */
export const POSTED: ReadonlySet<string> = new Set(POSTED_TYPES);

export const decodeTypes = (
  codec: EventCodec,
  events: readonly RecordedEvent[],
  types: ReadonlySet<string>,
): Promise<Decoded[]> => codec.decodeAll(events.filter(({ type }) => types.has(type)));

/** The events of a stream before a revision: the newest page first, each in order. */
export async function* pagesBefore(
  log: Pick<EventLog, 'readStream'>,
  stream: string,
  { before, size }: { readonly before: bigint; readonly size: bigint },
) {
  for (let end = before; end > 0n; end -= size) {
    const from = end > size ? end - size : 0n;
    const page: RecordedEvent[] = [];
    for await (const event of log.readStream(stream, { from, limit: Number(end - from) }))
      page.push(event);
    yield { page, from };
  }
}

/** The events of a stream that are of these types, in order. */
export async function* decodedIn(
  { log, codec }: LogReads,
  stream: string,
  types: ReadonlySet<string>,
  options?: ReadStreamOptions,
): AsyncGenerator<Decoded> {
  for await (const page of pages(log.readStream(stream, options)))
    yield* await decodeTypes(codec, page, types);
}

export function entryOf({ event, envelope, recorded }: Decoded): Entry {
  const { id, recordedAt } = recorded;
  const position = firstPosition(recorded);
  return {
    event: event as PostedEvent,
    eventId: id,
    position,
    recordedAt,
    actor: actorShown({ event, envelope }),
  };
}

/**
 * The actor of an event. Of a correction the proposer, whose channel is known for corrections in
 * one step.
 */
export function actorShown({ event, envelope: { actor } }: Omit<Decoded, 'recorded'>): string {
  const by = 'adjustment' in event ? event.adjustment?.by : undefined;
  return by === undefined || by.subject === actor.id
    ? shownActor(actor)
    : `operator:${shownName(by)}`;
}

/**
 * The time at which a selection is evaluated. A position has no time of its own: the newest
 * selected event's counts.
 */
export function clockOf(
  { upTo, until }: Selection,
  newest: RecordedEvent | undefined,
  now: number,
): number {
  if (until !== undefined) return until;
  return upTo === undefined ? now : newest === undefined ? 0 : effectiveTimeOf(newest);
}

/** The events of a stream that a selection includes. */
export async function* selectedEvents(
  log: EventLog,
  stream: string,
  { upTo, until }: Pick<Selection, 'upTo' | 'until'>,
): AsyncIterable<RecordedEvent> {
  for await (const event of log.readStream(stream)) {
    if (upTo !== undefined && log.compare(event.position, upTo) > 0) return;
    if (until === undefined || effectiveTimeOf(event) <= until) yield event;
  }
}

/** Accounts are short and many: the round trips take the time, so this many run in parallel. */
export const ACCOUNTS_AT_ONCE = 16;

export async function* pagesOf<T>(items: AsyncIterable<T>, size: number): AsyncIterable<T[]> {
  let page: T[] = [];
  for await (const item of items) {
    page.push(item);
    if (page.length < size) continue;
    yield page;
    page = [];
  }
  if (page.length > 0) yield page;
}

/** The account that the operator names: any client id with a stream. */
export async function findAccount(
  { log, names }: Pick<Core, 'log' | 'names'>,
  scope: Scope,
  accountId: string,
): Promise<{ readonly ref: AccountRef; readonly stream: string }> {
  const ref = names.accountRef(scope, accountId);
  const stream = names.accountStream(scope, ref);
  for await (const _ of log.readStream(stream, { limit: 1 })) return { ref, stream };
  throw accountNotFound(accountId, scope);
}

/** The first event of every account of a scope, in the order of the log, with bounded memory. */
export async function* accountsInLog(
  log: EventLog,
  prefix: string,
  { upTo }: { readonly upTo: Position | undefined },
): AsyncIterable<RecordedEvent> {
  for await (const page of logPages(log, { upTo, limit: 1_000 })) {
    for (const event of page) {
      if (event.revision === 0n && event.stream.startsWith(prefix)) yield event;
    }
  }
}
