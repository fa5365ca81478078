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
