import { AccountCommandEnvelope } from '../../command-handling/commands.js';
import type { Core } from '../../core/core.js';
import type { Refusal } from '../../domain/refusal.js';
import type { Scope } from '../../domain/scope.js';
import type { CommandMeta } from '../../event-log/envelope.js';
import type { Position } from '../../event-log/event-log.js';
import { memberOfStaff, operatorMeta } from '../audit.js';
import type { Done } from '../audited.js';
import { CommandError } from '../command-error.js';
import { KeyRefused, onceByKey, type KeyedBy } from '../operator-keys.js';

export interface AdjustmentRequest {
  readonly accountId: string;
  readonly userId: string;
  readonly unit: string;
  /** Above zero adds, below zero takes away. */
  readonly amount: number;
  readonly reason: string;
  readonly approvedBy: string;
  readonly by: string;
}

export interface Adjusted {
  /** The reward's event, or that of the first redemption. */
  readonly eventId: string;
  /** Of the newest event of the correction. */
  readonly position: Position | null;
}

/**
 * `ledger adjust`: through the same door as everybody's commands. The answer is made from the
 * decision; what is read after it could fail, and somebody would correct a second time. With a key,
 * the same key again is the same correction, whoever asks.
 * @throws {CommandError} for a refusal. @throws {KeyRefused} for a key that is in use or was used
 * for another correction.
 */
export async function adjustLedger(
  core: Pick<Core, 'commands' | 'names'>,
  scope: Scope,
  request: AdjustmentRequest,
  keyed?: KeyedBy,
): Promise<Adjusted> {
  if (keyed === undefined)
    return (await adjust(core, request, operatorMeta(scope, 'AdjustCredit'))).done;
  const { accountId, userId, unit, amount, reason, approvedBy } = request;
  // Not who types it: a colleague who repeats it means the same correction.
  const asked = { accountId, userId, unit, amount, reason, approvedBy };
  return onceByKey(
    core.names,
    { scope, operation: 'ledger adjust', asked, causationId: 'AdjustCredit', ...keyed },
    (meta) => adjust(core, request, meta),
  );
}

/** The same with what goes on record of it: a repetition is recorded as one. */
export async function adjustOnRecord(
  core: Pick<Core, 'commands' | 'names'>,
  scope: Scope,
  request: AdjustmentRequest,
  keyed?: KeyedBy,
): Promise<Done<Adjusted>> {
  let repeated: true | undefined;
  const onReplayed = (): void => {
    repeated = true;
    keyed?.onReplayed?.();
  };
  const result = await adjustLedger(core, scope, request, keyed && { ...keyed, onReplayed });
  const { accountId, userId, unit, amount } = request;
  const account = core.names.accountRef(scope, accountId);
  const user = core.names.userRef(scope, account, userId);
  return {
    result,
    parameters: { account, user, unit, amount, repeated },
    stands: 'the correction stands',
  };
}

async function adjust(
  { commands, names }: Pick<Core, 'commands' | 'names'>,
  { accountId, userId, unit, amount, reason, ...staff }: AdjustmentRequest,
  meta: CommandMeta,
): Promise<{ readonly done: Adjusted; readonly replayed: boolean }> {
  const { scope } = meta;
  const outcome = await commands.execute(
    new AccountCommandEnvelope(meta, names.accountRef(scope, accountId), {
      type: 'AdjustCredit',
      userId,
      unit,
      amount,
      reason,
      approvedBy: memberOfStaff(names, scope, staff.approvedBy),
      by: memberOfStaff(names, scope, staff.by),
    }),
  );
  if (outcome.kind === 'refused' && outcome.refused === 'IDEMPOTENCY_KEY_REUSED')
    throw new KeyRefused(outcome.refused);
  if (outcome.kind === 'refused')
    throw new CommandError(refusalText(outcome.refused, outcome.details, { accountId, userId }));
  const { events, eventIds, position, replayed } = outcome;
  // What fell due is settled in the same append, maybe with a redemption of its own; the
  // correction's events say why they are there.
  const first = events.findIndex(
    (event) => 'adjustment' in event && event.adjustment !== undefined,
  );
  const eventId = eventIds.at(first) ?? '';
  return { done: { eventId, position }, replayed };
}

function refusalText(
  refused: Refusal,
  details: readonly string[],
  { accountId, userId }: Pick<AdjustmentRequest, 'accountId' | 'userId'>,
): string {
  switch (refused) {
    case 'ACCOUNT_NOT_FOUND':
      return `there is no account ${accountId}`;
    case 'USER_NOT_FOUND':
      return `there is no user ${userId} in account ${accountId}`;
    case 'AMOUNT_TOO_LARGE':
      return 'the amount is more than the ledger can ever hold for an account';
    default:
      return details.length > 0 ? details.join('; ') : `refused: ${refused}`;
  }
}
