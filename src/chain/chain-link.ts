import { hash } from 'node:crypto';
import type { Position, RecordedEvent } from '../event-log/event-log.js';
import { firstPosition } from '../event-log/first-recorded.js';

/**
 * The state of a chain behind one of its events. Both digests are SHA-256 in hex over everything
 * before:
 *
 * - `digest`: the recorded content.
 * - `places`: in addition, where and when it was recorded first; statements use the recording time.
 *
 * Both are the same in every copy of the log. A copy from before copies kept origins has its own
 * places.
 */
export interface ChainLink {
  readonly events: number;
  /** Of the last event; null: none. */
  readonly position: Position | null;
  readonly digest: string;
  readonly places: string;
}

/** Before the first event. */
export const CHAIN_START: ChainLink = { events: 0, position: null, digest: '', places: '' };

/**
 * The chain with one event more:
 *
 *     digest = SHA-256( digest before ‖ LENGTHS ‖ " " ‖ revision ‖ "\n" ‖ stream ‖ id
 *                       ‖ type ‖ data ‖ metadata )
 *     places = SHA-256( places before ‖ digest ‖ " " ‖ recorded at ‖ " " ‖ position )
 *
 * in UTF-8, time and position as where it was recorded first. The digests before stand in hex,
 * nothing before the first event; LENGTHS are those of stream, id, type and data in UTF-16 code
 * units, with a space between them, and keep the texts apart; data and metadata are byte for byte
 * as stored; the recording time is in epoch milliseconds. One text for one call of the hash: many
 * small ones cost twice as much, and a verification does nothing else.
 */
export function nextLink(before: ChainLink, event: RecordedEvent): ChainLink {
  const { stream, revision, id, type, data, metadata, position, recordedAt } = event;
  const head = `${before.digest}${stream.length} ${id.length} ${type.length} ${data.length} ${revision}\n`;
  const digest = hash('sha256', head + stream + id + type + data + metadata, 'hex');
  const places = hash(
    'sha256',
    `${before.places}${digest} ${recordedAt} ${firstPosition(event)}`,
    'hex',
  );
  return { events: before.events + 1, position, digest, places };
}

/** Hex digits of the places digest kept per event: they locate a break and prove nothing. */
export const MARK_DIGITS = 16;

export const markOf = ({ places }: ChainLink): string => places.slice(0, MARK_DIGITS);
