import type { Position } from '../event-log/event-log.js';
import type { SealedEvents } from './chain-seals.js';

/**
 * The kind of the first break of a chain.
 *
 * - `changed`: bytes, names, position or recording time differ.
 * - `removed`: a sealed event is missing.
 * - `inserted`: an event among sealed ones was never sealed.
 * - `reordered`: an event is at another place in the log than when it was sealed.
 * - `seal-signature`: the events match the seal, but this installation did not sign the seal. The
 * event is the first one under it.
 * - `outside-digest`: the log matches its seals and not the digest that was kept outside: log and
 * seals were both replaced. The event is the last one that the digest covers; the changed one is
 * that one or an earlier one.
 * - `lost`: the log lost its end from this event on, and the loss is not acknowledged.
 * - `seal-removed`: the log has events, and the seal of the whole log is missing.
 * - `digest-signature`: the signature of the digest that was kept outside is invalid; the log
 * agrees with its seals.
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
  /** Null: unknown. */
  readonly eventId: string | null;
  readonly reason: BreakReason;
}

/** An event as read from the log. */
export interface FoundEvent {
  readonly id: string;
  readonly position: Position;
  readonly mark: string;
}

/** The first place where the log differs from the seals. */
export interface Divergence {
  /** Undefined: the sealed events end here. */
  readonly sealed: { readonly id: string; readonly position: Position } | undefined;
  /** Undefined: the events of the log end here. */
  readonly found: FoundEvent | undefined;
}

/** Compares both from the same seal on. Undefined: no difference. */
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
  /** The sealed event is further on in the log. */
  readonly isSealedFound: boolean;
  /** The event in its place is sealed elsewhere. */
  readonly isFoundSealed: boolean;
}

/** The kind of a divergence, once both events were searched for. */
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
  // Another event in the same place: the change includes the id.
  return {
    ...expected,
    reason: !isFoundSealed && found.position === sealed.position ? 'changed' : 'removed',
  };
}

const WHAT: Readonly<Record<Exclude<BreakReason, 'digest-signature'>, string>> = {
  changed: 'is not as it was sealed',
  removed: 'was sealed and is not there any more',
  inserted: 'was never sealed where it stands',
  reordered: 'stood elsewhere in the log when it was sealed',
  'seal-signature': 'is the first one under a seal that this installation did not sign',
  'outside-digest':
    'or one before it is not as the digest from outside says, though the seals agree: both were made anew',
  lost: 'or behind it was lost with the end of the log: `ledger acknowledge-loss` once that is understood',
  'seal-removed': 'was sealed, and the seal of the whole log is not there',
};

/** The first break in one sentence without its end. */
export function breakInWords({ position, eventId, reason }: ChainBreak): string {
  if (reason === 'digest-signature')
    return 'the digest file is not as this installation signed it; the log agrees with its seals';
  const event = eventId === null ? '' : ` (event ${eventId})`;
  return `the chain is broken at position ${position ?? 'unknown'}: what stands there${event} ${WHAT[reason]}`;
}
