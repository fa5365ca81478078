import type { Position } from '../event-log/event-log.js';

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

const WHAT: Readonly<Record<Exclude<BreakReason, 'digest-signature'>, string>> = {
  changed: 'differs from what was sealed',
  removed: 'was sealed and is missing',
  inserted: 'was never sealed at this position',
  reordered: 'was at another position when it was sealed',
  'seal-signature': 'is the first one under a seal that this installation did not sign',
  'outside-digest':
    'or an earlier one differs from the digest from outside, though the seals agree: log and seals were both replaced',
  lost: 'and later events were lost with the end of the log: run `ledger acknowledge-loss` once the cause is known',
  'seal-removed': 'was sealed, and the seal of the whole log is missing',
};

/** One sentence without its full stop. */
export function describeBreak({ position, eventId, reason }: ChainBreak): string {
  if (reason === 'digest-signature')
    return 'the digest file has no valid signature of this installation; the log agrees with its seals';
  const event = eventId === null ? '' : ` ${eventId}`;
  return `the chain is broken at position ${position ?? 'unknown'}: the event${event} ${WHAT[reason]}`;
}
