import { AccountCommandEnvelope } from '../../command-handling/commands.js';
import type { Refusal, Refused } from '../../domain/refusal.js';
import type { Core } from '../../stores/core.js';
import { memberOfStaff, personNamed, type StaffMeta } from '../audit.js';
import { keyRefused, onceIfKeyed, type KeyedBy } from '../operator-keys.js';
import { type Argument, NotDone } from '../outcome.js';

export interface AdjustmentRequest {
  readonly accountId: string;
  readonly userId: string;
  readonly unit: string;
  /** Positive adds, negative takes away. */
  readonly amount: number;
  readonly reason: string;
  readonly approvedBy: string;
}

/**
 * `ledger adjust`, through the same command path as clients use. The answer is made from the
 * decision: a read after the append could fail, and the correction would be repeated. With the same
 * key of an operator it is the same correction, and recorded as a repetition.
 */
export async function adjustWithAudit(
  core: Pick<Core, 'commands' | 'names'>,
  meta: StaffMeta,
  request: AdjustmentRequest,
  keyed?: KeyedBy,
) {
  const { names } = core;
  const asked = { ...request, approvedBy: personNamed(request.approvedBy) };
  const once = { meta, asked, keyed };
  const adjusted = await onceIfKeyed(names, once, async (keyedMeta) => {
    const { accountId, userId, unit, amount, reason, approvedBy } = request;
    const { scope, actor } = keyedMeta;
    const command = new AccountCommandEnvelope(keyedMeta, names.accountRef(scope, accountId), {
      type: 'AdjustCredit',
      userId,
      unit,
      amount,
      reason,
      approvedBy: memberOfStaff(names, scope, approvedBy),
      by: actor.name,
    });
    return appendCorrection(core, command, { accountId, userId });
  });
  const parameters = parametersOf(core, meta, request, adjusted.replayed);
  return { result: adjusted.done, parameters, completed: 'the correction stands' };
}

/** What the audit event of a correction contains. */
export function parametersOf(
  { names }: Pick<Core, 'names'>,
  { scope }: StaffMeta,
  { accountId, userId, unit, amount }: Omit<AdjustmentRequest, 'reason' | 'approvedBy'>,
  isRepeated: boolean,
) {
  const account = names.accountRef(scope, accountId);
  const user = names.userRef(scope, account, userId);
  return { account, user, unit, amount, repeated: isRepeated || undefined };
}

/** What a refused correction is about. */
const ABOUT: ReadonlyMap<Refusal, readonly Argument[]> = new Map<Refusal, readonly Argument[]>([
  ['ACCOUNT_NOT_FOUND', ['account']],
  ['USER_NOT_FOUND', ['user']],
  ['AMOUNT_TOO_LARGE', ['amount']],
  ['REDEMPTION_NOT_POSSIBLE', ['amount']],
]);

/** Why a correction was not made, or not proposed. */
export function notAdjusted(
  { refused, details = [] }: Refused,
  { accountId, userId }: Pick<AdjustmentRequest, 'accountId' | 'userId'>,
): NotDone {
  if (refused === 'IDEMPOTENCY_KEY_REUSED') return keyRefused(refused);
  const lines: Readonly<Partial<Record<Refusal, string>>> = {
    ACCOUNT_NOT_FOUND: `there is no account ${accountId}`,
    USER_NOT_FOUND: `there is no user ${userId} in account ${accountId}`,
    TOO_MANY_PROPOSALS: 'no more proposals are taken today for this tenant and mode',
  };
  const line = lines[refused] ?? (details.join('; ') || `refused: ${refused}`);
  return new NotDone(refused, [line], ABOUT.get(refused));
}

/**
 * A correction, of this call or an earlier one.
 * @param named how clients name the account and the user, for the text of a refusal.
 */
export async function appendCorrection(
  { commands }: Pick<Core, 'commands'>,
  command: AccountCommandEnvelope,
  named: Pick<AdjustmentRequest, 'accountId' | 'userId'>,
) {
  const outcome = await commands.execute(command);
  if (outcome.kind === 'refused') throw notAdjusted(outcome, named);
  const { events, eventIds, position, replayed } = outcome;
  // What is due is settled in the same append, maybe with a redemption of its own; only the
  // correction's events carry an adjustment.
  const adjustments = events.map((event) => ('adjustment' in event ? event.adjustment : undefined));
  const first = adjustments.findIndex((adjustment) => adjustment !== undefined);
  return {
    done: {
      /** The event that granted the reward, or the first redemption's event. */
      eventId: eventIds.at(first) ?? '',
      /** Of the correction's newest event. */
      position,
    },
    replayed,
    /** From the event; undefined: an event without an approver. */
    approvedBy: adjustments[first]?.approvedBy,
  };
}
