import { AccountCommandEnvelope } from '../../command-handling/commands.js';
import type { Core } from '../../stores/core.js';
import type { Personal } from '../../domain/personal.js';
import type { Position } from '../../event-log/event-log.js';
import { memberOfStaff, personNamed, type StaffMeta } from '../audit.js';
import type { Done } from '../audited.js';
import { onceByKey, type Keyed, type KeyedBy } from '../operator-keys.js';
import { NotDone, type Outcome } from '../outcome.js';

export interface AdjustmentRequest {
  readonly accountId: string;
  readonly userId: string;
  readonly unit: string;
  /** Positive adds, negative takes away. */
  readonly amount: number;
  readonly reason: string;
  readonly approvedBy: string;
}

export interface Adjusted {
  /** The event that granted the reward, or the first redemption's event. */
  readonly eventId: string;
  /** The position of the correction's newest event. */
  readonly position: Position | null;
}

/**
 * `ledger adjust`, through the same command path as clients use. The answer is made from the
 * decision: a read after the append could fail, and the correction would be repeated. With the same
 * key of an operator it is the same correction.
 */
export async function adjustLedger(
  core: Pick<Core, 'commands' | 'names'>,
  meta: StaffMeta,
  request: AdjustmentRequest,
  keyed?: KeyedBy,
): Promise<Outcome<Adjusted>> {
  if (keyed === undefined) {
    const adjusted = await adjust(core, request, meta);
    return adjusted instanceof NotDone ? adjusted : adjusted.done;
  }
  const asked = { ...request, approvedBy: personNamed(request.approvedBy) };
  return onceByKey(core.names, { meta, operation: 'ledger adjust', asked, ...keyed }, (keyedMeta) =>
    adjust(core, request, keyedMeta),
  );
}

/** The correction with its audit event; a repetition is recorded as one. */
export async function adjustOnRecord(
  core: Pick<Core, 'commands' | 'names'>,
  meta: StaffMeta,
  request: AdjustmentRequest,
  keyed?: KeyedBy,
): Promise<Outcome<Done<Adjusted>>> {
  let repeated: true | undefined;
  const onReplayed = (): void => {
    repeated = true;
    keyed?.onReplayed?.();
  };
  const result = await adjustLedger(core, meta, request, keyed && { ...keyed, onReplayed });
  if (result instanceof NotDone) return result;
  const { accountId, userId, unit, amount } = request;
  const account = core.names.accountRef(meta.scope, accountId);
  const user = core.names.userRef(meta.scope, account, userId);
  return {
    result,
    parameters: { account, user, unit, amount, repeated },
    completed: 'the correction stands',
  };
}

async function adjust(
  core: Pick<Core, 'commands' | 'names'>,
  { accountId, userId, unit, amount, reason, approvedBy }: AdjustmentRequest,
  meta: StaffMeta,
): Promise<Outcome<Keyed<Adjusted>>> {
  const { names } = core;
  const { scope } = meta;
  const command = new AccountCommandEnvelope(meta, names.accountRef(scope, accountId), {
    type: 'AdjustCredit',
    userId,
    unit,
    amount,
    reason,
    approvedBy: memberOfStaff(names, scope, approvedBy),
    by: meta.actor.name,
  });
  return appendCorrection(core, command, { accountId, userId });
}

/** A correction, of this call or an earlier one. */
export interface AppendedCorrection extends Keyed<Adjusted> {
  /** As its event says; undefined: the event names nobody. */
  readonly approvedBy: Personal<string> | undefined;
}

/** @param named how clients name the account and the user, for the text of a refusal. */
export async function appendCorrection(
  { commands }: Pick<Core, 'commands'>,
  command: AccountCommandEnvelope,
  named: Pick<AdjustmentRequest, 'accountId' | 'userId'>,
): Promise<Outcome<AppendedCorrection>> {
  const outcome = await commands.execute(command);
  if (outcome.kind === 'refused') {
    const { refused, details } = outcome;
    return refused === 'IDEMPOTENCY_KEY_REUSED'
      ? new NotDone({ code: refused })
      : new NotDone({ code: 'NOT_ADJUSTED', refused, details, ...named });
  }
  const { events, eventIds, position, replayed } = outcome;
  // What is due is settled in the same append, maybe with a redemption of its own; only the
  // correction's events carry an adjustment.
  const adjustments = events.map((event) => ('adjustment' in event ? event.adjustment : undefined));
  const first = adjustments.findIndex((adjustment) => adjustment !== undefined);
  const eventId = eventIds.at(first) ?? '';
  return { done: { eventId, position }, replayed, approvedBy: adjustments[first]?.approvedBy };
}
