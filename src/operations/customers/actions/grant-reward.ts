import * as z from 'zod';
import { dayOfEarlierAttempt } from '../../../command-handling/proposal-days.js';
import type { PersonId } from '../../../domain/account/account.events.js';
import type { RewardValue } from '../../../domain/program.js';
import { isUnit, trimmedUnit } from '../../../domain/units.js';
import type { Scope } from '../../../domain/scope.js';
import type { Core } from '../../../stores/core.js';
import { operatorMeta, type Staff, type StaffMeta } from '../../audit.js';
import type { Done } from '../../audited.js';
import { whenLockFree } from '../../../postgres/locks.js';
import { checkUnit } from '../../ledger/known-unit.js';
import { proposeNow } from '../../ledger/proposal-steps.js';
import { onceIfKeyed } from '../../operator-keys.js';
import { notDoneAbout } from '../../outcome.js';
import { reason, text, textUpTo, wholeNumber } from '../../registry/members.js';
import type { RecordingContext } from '../../registry/context.js';
import { recordedOperation } from '../../registry/operation.js';
import {
  namedIn,
  OF_USER,
  personOf,
  reasonAbout,
  sentToAccount,
  SUPPORT,
} from './account-action.js';
import { grantLimitLeft } from './grant-limit.js';

const MEMBERS = {
  ...OF_USER,
  type: z.enum(['CREDIT', 'PCT_DISCOUNT']),
  /** Of credit, an integer of the unit. */
  amount: wholeNumber(Number.MAX_SAFE_INTEGER).optional(),
  unit: text.transform(trimmedUnit).refine(isUnit, 'must be a unit').optional(),
  /** Of a discount. */
  percent: wholeNumber(100).optional(),
  name: textUpTo(255).optional(),
  /** Epoch milliseconds; undefined: never. */
  expires: z.int().optional(),
  reason,
};

export type AskedGrant = z.output<z.ZodObject<typeof MEMBERS>>;

/** The reward that was granted, or the proposal of one above the limit. */
type Granted = { readonly position: string | null } & (
  { readonly rewardId: string } | { readonly proposal: string }
);

interface AboutPerson {
  readonly person: PersonId | undefined;
}

/**
 * Grants a reward. Credit above what is left of the operator's limit is proposed instead, as a
 * correction that finance approves.
 */
export const grantReward = recordedOperation({
  name: 'reward grant',
  summary: 'grants a reward to a user, or proposes one above the limit of support',
  members: MEMBERS,
  ...SUPPORT,
  record: async (context, request): Promise<Done<Granted>> => {
    const { tenant: _, mode: __, ...asked } = request;
    const value = valueOf(asked);
    const { core, meta, scope, keyed } = context;
    const { account, unit, amount, percent, type } = asked;
    if (value.type === 'CREDIT') await checkUnit(core, scope, { account, unit: value.unit });
    const once = { meta, asked, keyed };
    const { done, replayed } = await onceIfKeyed(core.names, once, (keyedMeta) =>
      whenLockFree(core.pool, 'grant within limits', () =>
        granted(context, keyedMeta, asked, value),
      ),
    );
    const { person, ...result } = done;
    const of = 'proposal' in result ? { proposal: result.proposal } : { reward: result.rewardId };
    const repeated = replayed || undefined;
    const what = { type, amount, unit, percent };
    return {
      result,
      parameters: { ...namedIn(core, scope, asked), ...of, ...what, repeated },
      completed: 'the reward is granted or proposed',
      ...reasonAbout(person, asked.reason),
    };
  },
});

/**
 * Whether a grant of credit is above what is left of the operator's limit, so that finance has to
 * approve it. @throws {NotDone} for a unit that the account cannot have.
 */
export async function needsApproval(
  core: Core,
  scope: Scope,
  by: Staff,
  {
    account,
    unit,
    amount,
  }: Readonly<Record<'account' | 'unit', string>> & { readonly amount: number },
): Promise<boolean> {
  await checkUnit(core, scope, { account, unit });
  const meta = operatorMeta(core, scope, by, 'reward grant');
  return amount > (await grantLimitLeft(core, scope, { meta, account, unit }));
}

async function granted(
  { core, scope }: RecordingContext,
  meta: StaffMeta,
  asked: AskedGrant,
  value: ReturnType<typeof valueOf>,
): Promise<{ readonly done: Granted & AboutPerson; readonly replayed: boolean }> {
  const { account, user, name = null, expires: dateExpires = null, reason: why } = asked;
  if (value.type === 'CREDIT') {
    const { unit, assignedCredit: amount } = value;
    const isProposed =
      (await wasProposed(core, meta, account)) ??
      amount > (await grantLimitLeft(core, scope, { meta, account, unit }));
    if (isProposed) {
      const correction = { accountId: account, userId: user, unit, amount, reason: why };
      const grant = { name, dateExpires };
      const { done, replayed } = await proposeNow(core, meta, { ...correction, grant });
      const { id: proposal, position, person } = done;
      return { done: { proposal, position, person }, replayed };
    }
  }
  const outcome = await sentToAccount(core, meta, asked, {
    type: 'CreateReward',
    userId: user,
    value,
    name,
    description: null,
    cancellable: true,
    dateScheduledFor: null,
    dateExpires,
    reason: why,
  });
  const { events, position, replayed } = outcome;
  const event = events.find(({ type }) => type === 'RewardGranted');
  if (event?.type !== 'RewardGranted') throw new Error('a grant has recorded no reward');
  return { done: { rewardId: event.rewardId, position, person: personOf(outcome) }, replayed };
}

/**
 * Whether an earlier attempt with the key was proposed or granted, whatever is left of the limit by
 * now. Undefined: there is none.
 */
async function wasProposed(
  { streams, names }: Pick<Core, 'streams' | 'names'>,
  meta: StaffMeta,
  account: string,
): Promise<boolean | undefined> {
  const { scope, idempotency } = meta;
  if (idempotency === null) return undefined;
  const stream = names.accountStream(scope, names.accountRef(scope, account));
  if ((await streams.accounts.load(stream)).handled.find(meta)) return false;
  const day = await dayOfEarlierAttempt({ streams, names }, meta);
  return day === undefined ? undefined : true;
}

/** @throws {NotDone} when a member of its type is missing. */
function valueOf({
  type,
  amount,
  unit,
  percent,
}: AskedGrant): Exclude<RewardValue, { type: 'FUELTANK' }> {
  if (type === 'PCT_DISCOUNT') {
    if (percent === undefined) throw notDoneAbout('percent', 'Enter a percentage from 1 to 100.');
    return { type, discountPercent: percent, monthsDiscountIsValid: null };
  }
  if (unit === undefined) throw notDoneAbout('unit', 'Choose the unit of the credit.');
  if (amount === undefined) throw notDoneAbout('amount', 'Enter an amount above 0.');
  return { type, unit, assignedCredit: amount, currency: null };
}
