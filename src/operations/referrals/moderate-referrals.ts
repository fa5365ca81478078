import {
  ModerationCommandEnvelope,
  type ModerationDecision,
} from '../../command-handling/commands.js';
import type { Core } from '../../stores/core.js';
import type { StaffMeta } from '../audit.js';
import { notDone } from '../outcome.js';

/** Approves or denies sides of referrals, all or nothing, as a client does. */
export async function moderateReferrals(
  { commands }: Pick<Core, 'commands'>,
  meta: StaffMeta,
  actions: readonly ModerationDecision[],
) {
  const { refused, reasons, position } = await commands.execute(
    new ModerationCommandEnvelope(meta, actions),
  );
  if (refused) throw notDone(refused);
  if (reasons.length > 0) throw notDone(...reasons);
  // Of the newest event of it; null: nothing was to be changed.
  return { moderated: actions.length, position };
}
