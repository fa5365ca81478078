import type { Position } from '../event-log/event-log.js';
import type { SealedEvents } from './chain-seals.js';

/**
 * What became of the first event that is not as it was sealed.
 *
 * - `changed`: bytes, names, position or recording time are other ones.
 * - `removed`: it was sealed and is not there any more.
 * - `inserted`: it stands among sealed events and was never sealed.
 * - `reordered`: it stands elsewhere in the log than when it was sealed.
 * - `seal-signature`: the events are as the seal says, but nobody here signed the seal. The event
 *   is the first one under it.
 * - `outside-digest`: the log and its seals agree with each other and not with the digest that was
 *   kept outside: both were made anew. The event is the last one that the digest covers; the one
 *   that was changed is that one or stands before it.
 * - `lost`: the log lost its end from this event on, which nobody has acknowledged yet.
 * - `seal-removed`: the log holds events, and the seal of the whole log is not there.
 * - `digest-signature`: the digest that was kept outside is not as it was signed. Nothing is said
 *   about the log by that.
 */
export type BreakReason =
  | 'changed'
  | 'removed'
  | 'inserted'
  | 'reordered'
  | 'seal-signature'
  | 'outside-digest'
  | 'lost'
  | 'seal-removed'
  | 'digest-signature';

export interface ChainBreak {
  readonly position: Position | null;
  /** Null: not known. */
  readonly eventId: string | null;
  readonly reason: BreakReason;
}

/** An event as it was met in the log. */
export interface FoundEvent {
  readonly id: string;
  readonly position: Position;
  readonly mark: string;
}

/** The first place where what was found is not what was sealed. */
export interface Divergence {
  /** Undefined: nothing more was sealed. */
  readonly sealed: { readonly id: string; readonly position: Position } | undefined;
  /** Undefined: nothing more was found. */
  readonly found: FoundEvent | undefined;
}

/** Both from the same seal on. Undefined: they agree. */
export function divergence(
  sealed: SealedEvents,
  found: readonly FoundEvent[],
): Divergence | undefined {
  const count = Math.max(sealed.ids.length, found.length);
  for (let index = 0; index < count; index++) {
    const [id, position] = [sealed.ids[index], sealed.positions[index]];
    const event = found[index];
    if (id === undefined || position === undefined) return { sealed: undefined, found: event };
    if (event?.mark !== sealed.marks[index] || event?.id !== id)
      return { sealed: { id, position }, found: event };
  }
  return undefined;
}

export interface Elsewhere {
  /** The sealed event stands further on in the log. */
  readonly isSealedFound: boolean;
  /** The event that was found instead was sealed some time. */
  readonly isFoundSealed: boolean;
}

/** What a divergence comes from, once it is known what became of the two events. */
export function breakOf(
  { sealed, found }: Divergence,
  { isSealedFound, isFoundSealed }: Elsewhere,
): ChainBreak {
  if (sealed === undefined)
    return { position: found?.position ?? null, eventId: found?.id ?? null, reason: 'inserted' };
  const expected = { position: sealed.position, eventId: sealed.id };
  if (found === undefined) return { ...expected, reason: 'removed' };
  if (found.id === sealed.id) return { ...expected, reason: 'changed' };
  if (isSealedFound) {
    return isFoundSealed
      ? { ...expected, reason: 'reordered' }
      : { position: found.position, eventId: found.id, reason: 'inserted' };
  }
  // Another one in its very place: its id is among what was changed.
  return {
    ...expected,
    reason: !isFoundSealed && found.position === sealed.position ? 'changed' : 'removed',
  };
}
