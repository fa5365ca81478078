import { toUSVString } from 'node:util';
import {
  APPEND_BYTES_MAX,
  AppendTooLarge,
  appendBytes,
  type ExpectedRevision,
  type NewEvent,
} from './event-log.js';
import { namesOrigin } from './first-recorded.js';

/** An append that every log refuses; a retry is useless. Names the broken rule, never a value. */
export class InvalidAppend extends TypeError {
  override readonly name = 'InvalidAppend';
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/**
 * Checked by every adapter before sending: one invalid append would fail its neighbours in the same
 * transaction or connection.
 * @returns bytes of data and metadata. Origins do not count: those of a copy stay below
 * EventStoreDB's margin above the limit.
 * @throws {InvalidAppend}
 * @throws {AppendTooLarge}
 */
export function checkAppend(
  stream: string,
  expected: ExpectedRevision,
  events: readonly NewEvent[],
): number {
  if (!isName(stream))
    throw new InvalidAppend('a stream needs a name of well-formed text without NUL');
  if (typeof expected === 'bigint' && expected < 0n)
    throw new InvalidAppend('an expected revision is not negative');
  if (events.length === 0) throw new InvalidAppend('an append has at least one event');
  for (const event of events) {
    if (!UUID.test(event.id)) throw new InvalidAppend('an event id is a UUID');
    if (!isName(event.type))
      throw new InvalidAppend('an event has a type of well-formed text without NUL');
    if (!isStorable(event.data) || !isStorable(event.metadata))
      throw new InvalidAppend('data and metadata are well-formed text without NUL');
    if (namesOrigin(event.metadata))
      throw new InvalidAppend('the metadata contains an origin: pass it as `origin`');
  }
  if (events.length > 1 && new Set(events.map(({ id }) => id.toLowerCase())).size < events.length) {
    throw new InvalidAppend('an event id occurs once in an append');
  }
  const bytes = appendBytes(events);
  if (bytes > APPEND_BYTES_MAX) throw new AppendTooLarge(bytes);
  return bytes;
}

function isName(text: string): boolean {
  return text.length > 0 && isStorable(text);
}

/** A lone surrogate would be stored as another character, unless escaped in JSON. */
function isStorable(text: string): boolean {
  return !text.includes('\0') && toUSVString(text) === text;
}
