import { customerSummary } from '../../customer/customer.state.js';
import { ownMember } from '../../own-member.js';
import { personal } from '../../personal.js';
import type { Program, RewardTerms, SideStatus } from '../../program.js';
import type { Decision } from '../../decision.js';
import { codesKey, type InNeed, type Need } from '../../need.js';
import { refused, type Refused } from '../../refusal.js';
import type { AccountRef } from '../../scope.js';
import { programOf } from '../../tenant/program-document.js';
import type { AccountEvent, ReferralImportSource, PersonId, RowValues } from '../account.events.js';
import { customerLinkOf } from '../account-shapes.js';
import type { AccountState, OpenAccount } from '../account.state.js';
import { earnedBy, isMutual } from '../referral/referral.js';
import type { ImportedReferrer } from '../referral/referral-parties.js';
import type { Circumstances } from '../requests/circumstances.js';
import { partyIds } from '../rewards/rewards.js';
import {
  answerToRepeated,
  importedIdOf,
  refusalOfDates,
  type ImportedRow,
} from './imported-rows.js';
import { refusalOfPlace } from './placed-rows.js';

/** A reward that a row names. */
export interface NamedReward {
  readonly ref: string;
  readonly rewardId: string;
}

/** A referral of another program, in the referred account. Undefined: not in the row. */
export interface ImportReferral extends ImportedRow {
  readonly type: 'ImportReferral';
  /** A row with an id belongs to one account only. */
  readonly hasId: boolean;
  /** The row's values that name the referrer, encrypted for that person. */
  readonly referrerRow: RowValues;
  readonly userId: string;
  /** Undefined: deleted. */
  readonly referrer: { readonly account: AccountRef; readonly userId: string } | undefined;
  /** Placeholder for the account of a deleted referrer. */
  readonly noAccount: AccountRef;
  readonly programId: string | undefined;
  readonly code: string | undefined;
  readonly dateStarted: number | undefined;
  readonly datePaid: number | undefined;
  readonly dateEnded: number | undefined;
  readonly referredStatus: SideStatus;
  readonly referrerStatus: SideStatus;
  readonly rewards: Readonly<Record<Side, NamedReward | undefined>>;
}

type Side = 'referred' | 'referrer';
export const SIDES: readonly Side[] = ['referred', 'referrer'];

export function importReferral(
  state: AccountState,
  command: ImportReferral,
  given: Circumstances,
): Decision<AccountEvent> {
  const whole = { ...command, row: { ...command.row, ...command.referrerRow } };
  const repeated =
    answerToRepeated(state.remains.imported.get(command.ref), whole) ??
    (command.hasId ? refusalOfPlace(state, whole, given) : undefined);
  if (repeated) return repeated;
  const person = state.status === 'open' ? state.personsByUserId.get(command.userId) : undefined;
  if (state.status === 'absent' || person === undefined) return refused('USER_NOT_FOUND');
  const { tenant, now } = given;
  const program = programOf(tenant, command.programId ?? tenant.defaultProgramId);
  if (!program)
    return refused('PROGRAM_UNKNOWN', `The tenant has no program ${command.programId ?? ''}`);
  const against = refusalOfDates(whole.row, now) ?? refusalOfReferral(state, command, given);
  if (against) return against;
  const referrer = referrerOf(state, command, given);
  if ('needs' in referrer || 'refused' in referrer) return referrer;
  const unnamed =
    refusalOfCode(command, referrer, given) ?? refusalOfRewards(command, person, referrer, given);
  if (unnamed) return unnamed;
  const paid = paidBefore(state, given);
  if ('needs' in paid) return paid;
  return { events: eventsOf(state, command, { person, referrer, program, paid }, given) };
}

/** The newest invoice that the account had paid before the import. */
function paidBefore(
  state: OpenAccount,
  { provided }: Circumstances,
): Pick<ReferralImportSource, 'paidUntil'> | InNeed {
  const { hasPaid, paymentProviderId: id } = state;
  // Waiting events count with the customer's next event, not as paid before.
  if (!hasPaid || id === null) return {};
  const customer = ownMember(provided.customers, id);
  if (customer === undefined) return { needs: [{ kind: 'customer', id }] };
  const { newestPaid } = customerSummary(customer, customerLinkOf(state));
  return newestPaid === null ? {} : { paidUntil: newestPaid.created };
}

function refusalOfReferral(
  state: OpenAccount,
  { referrer }: ImportReferral,
  { account }: Circumstances,
): Refused | undefined {
  if (referrer?.account === account)
    return refused('SELF_REFERRAL', 'Both sides belong to one account');
  return state.attribution === null ? undefined : refused('ALREADY_REFERRED');
}

/** A deleted referrer has no ids. */
function referrerOf(
  state: OpenAccount,
  { ref, referrer, noAccount }: ImportReferral,
  given: Circumstances,
): ImportedReferrer | Refused | InNeed {
  const { provided, ids, now, account } = given;
  if (referrer === undefined) {
    const person = ids.uuid(ref, 'referrer');
    const party = { account: noAccount, person, ids: { subject: person, value: null } };
    return { party, referredBy: null, formerReferrals: [], primaryCodes: {} };
  }
  const found = ownMember(
    provided.importedReferrers,
    codesKey([referrer.account, referrer.userId]),
  );
  if (found === undefined) return { needs: [{ kind: 'imported-referrer', ...referrer }] };
  if (found === null)
    return refused(
      'USER_NOT_FOUND',
      'The referrer is not a user of the account that the row names',
    );
  const attributing = { now, account, referralId: ids.within(importedIdOf(ref)), provided };
  return isMutual(state, found, attributing)
    ? refused('SELF_REFERRAL', "The referrer's account was referred by this account")
    : found;
}

/** The code belongs to another user than the referrer. */
function refusalOfCode(
  { code, referrer }: ImportReferral,
  { party }: ImportedReferrer,
  { provided }: Circumstances,
): Refused | InNeed | undefined {
  if (code === undefined || referrer === undefined) return undefined;
  const codes = [code];
  const found = ownMember(provided.codeOwners, codesKey(codes));
  if (found === undefined) return { needs: [{ kind: 'code-owner', codes }] };
  return found.owner === null || found.owner.party.person === party.person
    ? undefined
    : refused('REFERRAL_CODE_TAKEN', 'The code belongs to another user than the referrer');
}

/** Each named reward becomes the side's; one that was imported must be that person's. */
function refusalOfRewards(
  command: ImportReferral,
  person: PersonId,
  { party }: ImportedReferrer,
  { provided, ids, account }: Circumstances,
): Refused | InNeed | undefined {
  const { rewards, referrer } = command;
  const referralId = ids.within(importedIdOf(command.ref));
  const owners = {
    referred: { account, person },
    referrer: { account: party.account, person: party.person },
  };
  const needs: Need[] = [];
  for (const side of SIDES) {
    const named = rewards[side];
    if (named === undefined || (side === 'referrer' && referrer === undefined)) continue;
    const placed = ownMember(provided.namedRewards, named.ref);
    if (placed === undefined)
      needs.push({ kind: 'reward-naming', ref: named.ref, referralId, side });
    if (!placed) continue;
    const against = (why: string): Refused =>
      refused('ROW_INVALID', `The reward of the ${side} side is ${why}`);
    const { account: of, person: owner } = owners[side];
    if (placed.account !== of || !placed.persons.includes(owner))
      return against('the reward of another user');
    if ((placed.referralId ?? referralId) !== referralId)
      return against('the reward of another referral');
    if (command[`${side}Status`] === 'PENDING') return against('imported, and the side is PENDING');
  }
  return needs.length > 0 ? { needs } : undefined;
}

interface Found {
  readonly person: PersonId;
  readonly referrer: ImportedReferrer;
  readonly program: Program;
  readonly paid: Pick<ReferralImportSource, 'paidUntil'>;
}

function eventsOf(
  state: OpenAccount,
  command: ImportReferral,
  { person, referrer: { party: ofReferrer, primaryCodes }, program, paid }: Found,
  { account, now, ids }: Circumstances,
): readonly AccountEvent[] {
  const { ref, referredStatus, referrerStatus, datePaid, dateEnded } = command;
  const at = command.dateStarted ?? now;
  const referralId = ids.within(importedIdOf(ref));
  const isGone = command.referrer === undefined;
  const code = isGone ? null : (command.code ?? ownMember(primaryCodes, program.id) ?? null);
  const imported: ReferralImportSource = {
    ref,
    at: now,
    row: personal(person, command.row),
    referrerRow: isGone ? null : personal(ofReferrer.person, command.referrerRow),
    rewards: {
      referred: command.rewards.referred?.rewardId ?? null,
      referrer: isGone ? null : (command.rewards.referrer?.rewardId ?? null),
    },
    ...paid,
  };
  const earns = terms(command, program, isGone);
  const of = { referralId, programId: program.id, programVersion: program.version };
  const statuses = { referredStatus, referrerStatus };
  const used = { subject: ofReferrer.person, value: code };
  return [
    { type: 'AccountAttributed', at, code: used, referrer: ofReferrer, programId: program.id },
    {
      type: 'ReferralStarted',
      at,
      ...of,
      ...statuses,
      code: used,
      shareLinkUsed: null,
      referred: { account, person, ids: personal(person, partyIds(state, person)) },
      referrer: ofReferrer,
      fraudSignals: {},
      tooManyWith: [],
      ...earns('STARTED'),
      imported,
    },
    ...(datePaid === undefined
      ? []
      : [
          {
            type: 'ReferralConverted' as const,
            at: datePaid,
            ...of,
            ...statuses,
            referrer: ofReferrer,
            ...earns('CONVERTED'),
            imported: true as const,
          },
        ]),
    ...(dateEnded === undefined
      ? []
      : [{ type: 'ReferralEnded' as const, at: dateEnded, referralId, imported: true as const }]),
  ];
}

/** A side earns nothing by the import, unless it came without a reward and waits for approval. */
const terms =
  (command: ImportReferral, program: Program, isGone: boolean) =>
  (moment: RewardTerms['when']): Record<`${Side}Reward`, RewardTerms | null> => {
    const of = (side: Side): RewardTerms | null => {
      const isSettled =
        command[`${side}Status`] === 'APPROVED' || command.rewards[side] !== undefined;
      const hasNoOwner = side === 'referrer' && isGone;
      return isSettled || hasNoOwner ? null : earnedBy(program[`${side}Reward`], moment);
    };
    return { referredReward: of('referred'), referrerReward: of('referrer') };
  };
