import { ownMember } from '../../own-member.js';
import { personal } from '../../personal.js';
import type { RewardValue } from '../../program.js';
import { eventsIf, type Decision } from '../../decision.js';
import type { InNeed, RecordedSide } from '../../need.js';
import { refused, type Refused } from '../../refusal.js';
import { programOf } from '../../tenant/program-document.js';
import type {
  AccountEvent,
  RewardImportSource,
  PersonId,
  RewardSource,
} from '../account.events.js';
import {
  presentReward,
  type AccountState,
  type OpenAccount,
  type RewardPhase,
} from '../account.state.js';
import { Draft } from '../draft.js';
import { isoTime } from '../refusal-details.js';
import type { Circumstances } from '../requests/circumstances.js';
import { grantNewReward, neededCode, refusalOfValue, reservedCode } from '../rewards/rewards.js';
import {
  answerToRepeated,
  importedIdOf,
  refusalOfDates,
  type ImportedRow,
} from './imported-rows.js';
import { refusalOfPlace } from './placed-rows.js';

/** A reward of another program. Null: not in the row. */
export interface ImportReward extends ImportedRow {
  readonly type: 'ImportReward';
  /** A row with an id belongs to one account only. */
  readonly hasId: boolean;
  readonly userId: string;
  readonly value: RewardValue;
  readonly name: string | null;
  readonly source: RewardSource;
  readonly programId: string | null;
  /** Of credit; otherwise 0. */
  readonly redeemed: number;
  readonly cancellable: boolean;
  readonly dateGiven: number | null;
  readonly dateScheduledFor: number | null;
  readonly dateExpires: number | null;
  readonly dateCancelled: number | null;
}

/** A reward has at most one imported redemption. */
export const importedRedemptionId = (rewardId: string): string => `${rewardId}-imported`;

export function importReward(
  state: AccountState,
  command: ImportReward,
  given: Circumstances,
): Decision<AccountEvent> {
  const { ref, hasId, userId, programId, value } = command;
  const answered =
    answerToRepeated(state.remains.imported.get(ref), command) ??
    (hasId ? refusalOfPlace(state, command, given) : undefined);
  if (answered) return answered;
  const person = state.status === 'open' ? state.personsByUserId.get(userId) : undefined;
  if (state.status === 'absent' || person === undefined) return refused('USER_NOT_FOUND');
  const { now, tenant, provided, ids } = given;
  if (programId !== null && !programOf(tenant, programId))
    return refused('PROGRAM_UNKNOWN', `The tenant has no program ${programId}`);
  const sides = hasId ? (ownMember(provided.importedRows, ref)?.sides ?? []) : [];
  const against =
    refusalOfDates(command.row, now) ??
    refusalOfAmounts(command, now) ??
    refusalOfValue(state, value) ??
    refusalOfSides(sides, person, given);
  if (against) return against;
  const rewardId = ids.within(importedIdOf(ref));
  const taken = refusalOfTankCode(state, command, rewardId, given);
  if (taken) return taken;
  const [side] = sides;
  const { dateScheduledFor, dateExpires, dateCancelled, redeemed } = command;
  const imported: RewardImportSource = {
    ref,
    row: personal(person, command.row),
    at: now,
    side: side?.side ?? null,
    redeemed,
    phase: phaseOf(command, now),
    dateCancelled,
  };
  const draft = new Draft(state, provided);
  grantNewReward(
    draft,
    {
      rewardId,
      person,
      source: command.source,
      value,
      name: command.name,
      description: null,
      cancellable: command.cancellable,
      dateScheduledFor,
      dateExpires,
      referralId: side?.referralId ?? null,
      programId,
      // No rule granted it: it counts for no limit.
      programVersion: null,
      rule: null,
      redeemsAutomatically: false,
      imported,
    },
    command.dateGiven ?? now,
  );
  return draft.decision();
}

/** A reward that came in before the referral whose row names it. */
export interface LinkImportedReward {
  readonly type: 'LinkImportedReward';
  readonly rewardId: string;
  readonly person: PersonId;
  readonly referralId: string;
  readonly side: 'referred' | 'referrer';
}

/** No events: the reward has not come in, or has its referral. */
export function linkImportedReward(
  state: AccountState,
  { rewardId, person, referralId, side }: LinkImportedReward,
  { now: at }: Pick<Circumstances, 'now'>,
): Decision<AccountEvent> {
  const reward = state.status === 'open' ? presentReward(state, rewardId) : undefined;
  return eventsIf(reward?.person === person && reward.referralId === null, {
    type: 'ImportedRewardLinked',
    at,
    rewardId,
    referralId,
    side,
  });
}

function phaseOf({ dateScheduledFor, dateExpires }: ImportReward, now: number): RewardPhase {
  if (dateExpires !== null && dateExpires <= now) return 'EXPIRED';
  return dateScheduledFor !== null && dateScheduledFor > now ? 'PENDING' : 'AVAILABLE';
}

function refusalOfAmounts(
  { value, redeemed, dateScheduledFor, dateExpires, dateCancelled }: ImportReward,
  now: number,
): Refused | undefined {
  const amount = value.type === 'CREDIT' ? value.assignedCredit : 0;
  if (redeemed > amount)
    return refused('ROW_INVALID', `redeemed ${redeemed} is more than the credit ${amount}`);
  if (redeemed > 0 && dateCancelled !== null)
    return refused('REWARD_NOT_CANCELLABLE', `${redeemed} of it were redeemed`);
  if (redeemed > 0 && dateScheduledFor !== null && dateScheduledFor > now)
    return refused('ROW_INVALID', `redeemed is ${redeemed}, of a reward that is not available yet`);
  if (dateScheduledFor === null || dateExpires === null || dateExpires >= dateScheduledFor)
    return undefined;
  return refused(
    'REWARD_DATES_INVALID',
    `dateExpires must not be before dateScheduledFor, ${isoTime(dateScheduledFor)}`,
  );
}

/** The reward is that of at most one side of one referral. */
function refusalOfSides(
  sides: readonly RecordedSide[],
  person: PersonId,
  { account }: Circumstances,
): Refused | undefined {
  const [side, another] = sides;
  if (side === undefined) return undefined;
  if (another !== undefined)
    return refused('ROW_INVALID', 'More than one side of a referral names the reward as its own');
  if (side.account !== account || side.person !== person)
    return refused(
      'ROW_INVALID',
      'The side of the referral that names the reward belongs to another user',
    );
  return side.status === 'PENDING'
    ? refused('ROW_INVALID', `The ${side.side} side of its referral is PENDING: it has no reward`)
    : undefined;
}

/** A code that another reward has rejects the row. */
function refusalOfTankCode(
  state: OpenAccount,
  { value }: ImportReward,
  rewardId: string,
  { provided }: Circumstances,
): Refused | InNeed | undefined {
  const reserved = reservedCode(state, rewardId, provided);
  if (value.type !== 'FUELTANK' || !reserved) return neededCode(state, value, rewardId, provided);
  if (reserved.code === null)
    return refused('ROW_INVALID', 'The tank code belongs to another reward');
  return reserved.code === value.fuelTankCode
    ? undefined
    : refused('ROW_INVALID', 'Another import reserved another tank code: import it again later');
}
