import {
  hasRecorded,
  lapseReservation,
  type ReservedValue,
} from '../../domain/account/referral/lapse-reservation.js';
import type { CommandMeta } from '../../event-log/envelope.js';
import { asNewCommand } from '../as-new-command.js';
import type { Streams } from '../streams.js';

/** True: the account never recorded the reserved value, and its claims no longer can. */
export async function lapse(
  { accounts }: Pick<Streams, 'accounts'>,
  stream: string,
  meta: CommandMeta,
  lapsing: { readonly what: ReservedValue; readonly clock: () => number },
): Promise<boolean> {
  const { what, clock } = lapsing;
  const { state } = await accounts.load(stream);
  // The usual case, without the queue of that account.
  if (hasRecorded(state, what)) return false;
  const outcome = await accounts.handle(stream, asNewCommand(meta), (newest) =>
    lapseReservation(newest, { type: 'LapseReservation', what, now: clock() }),
  );
  return outcome.kind === 'accepted' && outcome.events.length > 0;
}
