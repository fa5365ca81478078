import type { Core } from '../core.js';
import type { Refusal } from '../domain/refusal.js';
import type { Scope } from '../domain/scope.js';
import type { Position } from '../event-log/event-log.js';
import type { StoredMetadata } from '../event-log/envelope.js';
import { memberOfStaff, operatorMeta } from './audit.js';
import { CommandError } from './command-line.js';

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
  readonly position: Position | null;
}

/** `ledger adjust`: through the same door as everybody's commands. @throws {CommandError} */
export async function adjustLedger(
  { accounts, log, names }: Pick<Core, 'accounts' | 'log' | 'names'>,
  scope: Scope,
  { accountId, userId, unit, amount, reason, ...staff }: AdjustmentRequest,
): Promise<Adjusted> {
  const account = names.accountRef(scope, accountId);
  const meta = operatorMeta(scope, 'AdjustCredit');
  const outcome = await accounts.execute(meta, account, {
    ...{ type: 'AdjustCredit', userId, unit, amount, reason },
    ...{ approvedBy: memberOfStaff(names, scope, staff.approvedBy), by: memberOfStaff(names, scope, staff.by) },
  });
  if (outcome.kind === 'refused') throw new CommandError(whyNot(outcome.refused, outcome.details, accountId, userId));
  const isMoney = (type: string): boolean => type === 'RewardGranted' || type === 'CreditRedeemed';
  for await (const { id, type, metadata } of log.readStream(names.accountStream(scope, account))) {
    const { command } = JSON.parse(metadata) as StoredMetadata;
    if (command === meta.commandId && isMoney(type)) return { eventId: id, position: outcome.position };
  }
  throw new Error('an adjustment was accepted and is not there');
}

function whyNot(refused: Refusal, details: readonly string[], accountId: string, userId: string): string {
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
