import * as z from 'zod';
import type { ModerationDecision } from '../../command-handling/commands.js';
import { referralOf } from '../../domain/account/referral/former-referrals.js';
import { MODERATION_ACTIONS } from '../../domain/moderation/moderation.decider.js';
import { personal, type Personal } from '../../domain/personal.js';
import type { Scope } from '../../domain/scope.js';
import { accountOfId } from '../../privacy/keyed-names.js';
import type { Core } from '../../stores/core.js';
import { staffSays, type StaffMeta } from '../audit.js';
import { onceIfKeyed } from '../operator-keys.js';
import { notDone } from '../outcome.js';
import { text, textUpTo } from '../registry/members.js';
import type { RecordingContext } from '../registry/context.js';
import { recordedOperation } from '../registry/operation.js';
import { undoOf } from './decided-referrals.js';
import { moderateReferrals } from './moderate-referrals.js';

/** Support's decisions on referrals. They are operations of the console alone. */

const side = z.enum(['PENDING', 'APPROVED', 'DENIED']);
const SUPPORT = { roles: ['support'], isKeyed: true, examples: [] } as const;

const decisionReason = textUpTo(1_000).optional();

export const moderate = recordedOperation({
  name: 'referral moderate',
  summary: 'approves or denies sides of referrals, all or none of them',
  members: {
    referrals: z
      .array(
        z.strictObject({
          id: text,
          /** The sides that the form shows: refused when they are others by now. */
          seen: z.strictObject({ referred: side, referrer: side }).optional(),
        }),
      )
      .min(1, 'choose a referral first')
      .max(100, 'at most 100 referrals are decided on together'),
    action: z.enum(MODERATION_ACTIONS),
    reason: decisionReason,
  },
  ...SUPPORT,
  record: (context, { referrals, action, reason }) => {
    const asked = referrals.map(({ id: referralId, seen }) => ({
      referralId,
      action,
      seen,
      reason,
    }));
    return moderatedOnce(context, { action, asked, reason });
  },
});

/** Approves what the newest decision denied and denies what it approved. */
export const undoDecision = recordedOperation({
  name: 'referral undo',
  summary: 'undoes the newest decision on a referral',
  members: { referral: text, reason: decisionReason },
  ...SUPPORT,
  record: async (context, { referral, reason }) => {
    const actions = await undoOf(context.core, context.scope, referral);
    if (actions === null)
      throw notDone('There is no decision of the last 90 days on this referral.');
    const asked = actions.map((action) => ({ ...action, reason }));
    return moderatedOnce(context, { action: 'UNDONE', asked, reason, form: { referral } });
  },
});

interface Decision {
  readonly action: string;
  readonly asked: readonly ModerationDecision[];
  readonly reason: string | undefined;
  /** What the form's key must always come with; default: the decision itself. */
  readonly form?: object;
}

async function moderatedOnce(
  { core, meta, scope, keyed }: RecordingContext,
  { action, asked, reason, form }: Decision,
) {
  const once = { meta, asked: form ?? { asked }, keyed };
  const { done: result } = await onceIfKeyed(core.names, once, async (keyedMeta) => ({
    done: await moderateReferrals(core, keyedMeta, asked),
    replayed: false,
  }));
  const referrals = [...new Set(asked.map(({ referralId }) => referralId))];
  const [only] = referrals;
  const single = referrals.length === 1 && only !== undefined ? only : undefined;
  return {
    result,
    parameters: { action, referrals: referrals.length, referral: single },
    completed: `${referrals.length} referrals are moderated`,
    ...(reason !== undefined && {
      reason: await sealedReason(core, scope, { meta, single, reason }),
    }),
  };
}

/** About one person it is forgotten with the person; about several it is the operator's text. */
async function sealedReason(
  { streams, names }: Pick<Core, 'streams' | 'names'>,
  scope: Scope,
  { meta, single, reason }: { meta: StaffMeta; single: string | undefined; reason: string },
): Promise<Personal<string>> {
  const account = single === undefined ? undefined : accountOfId(single);
  if (single === undefined || account === undefined) return staffSays(meta, reason);
  const { state } = await streams.accounts.load(names.accountStream(scope, account));
  const referral = referralOf(state, single);
  return referral ? personal(referral.referred.person, reason) : staffSays(meta, reason);
}
