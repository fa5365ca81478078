import {
  ModerationCommandEnvelope,
  type AskedModeration,
} from '../../command-handling/commands.js';
import type { Core } from '../../stores/core.js';
import type { StaffMeta } from '../audit.js';
import { NotDone } from '../outcome.js';

/** Approves or denies sides of referrals, all or nothing, as a client does. */
export async function moderateReferrals(
  { commands }: Pick<Core, 'commands'>,
  meta: StaffMeta,
  actions: readonly AskedModeration[],
) {
  const { refused, reasons, position } = await commands.execute(
    new ModerationCommandEnvelope(meta, actions),
  );
  if (refused) return new NotDone({ code: 'REFERRALS_NOT_MODERATED', reasons: [refused] });
  if (reasons.length > 0) return new NotDone({ code: 'REFERRALS_NOT_MODERATED', reasons });
  // Of the newest event of it; null: nothing was to be changed.
  return { moderated: actions.length, position };
}
