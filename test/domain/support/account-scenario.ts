import { List } from 'immutable';
import type {
  AccountEvent,
  AccountEventOf,
  AnnouncedReferral,
  Party,
} from '../../../src/domain/account/account.events.js';
import { decide } from './decisions.js';
import {
  evolve,
  initialState,
  rewardRef,
  type AccountState,
  type OpenAccount,
} from '../../../src/domain/account/account.state.js';
import type { ReferralContext } from '../../../src/domain/account/referral/referral.js';
import type { CodeOwner, Referrer } from '../../../src/domain/account/referral/referral-parties.js';
import { NOTHING_PROVIDED, type Provided } from '../../../src/domain/need.js';
import type { Program, PromisedValue, RewardTerms } from '../../../src/domain/program.js';
import { DEFAULT_PROGRAM, toProgram } from '../../../src/domain/tenant/program-document.js';
import {
  accountOpened,
  anAccount,
  userIdentified,
  credit,
  discount,
  partyOf,
  referralStarted,
  rewardGranted,
} from '../../support/account-events.js';
import { scenarioOf } from './scenario.js';

/** The moment of every decision. Events of the past have small times. */
export const NOW = 1_700_000_000_000;
export const DAY_MS = 24 * 60 * 60 * 1000;

/** The account that the tests are about; Ann, who refers it, lives in another one. */
export const ACME = anAccount('acme');
export const ANNS = anAccount('anns');
export const ANN = partyOf(ANNS, 'ann');
export const BOB = partyOf(ACME, 'bob');
export const HERE = [accountOpened(ACME), userIdentified(ACME, 'bob')];

export const DEFAULT: Program = toProgram(
  { version: 1, document: DEFAULT_PROGRAM, eventRules: [] },
  true,
);

export const terms = (value: PromisedValue, over: Partial<RewardTerms> = {}): RewardTerms => ({
  value,
  when: 'STARTED',
  name: null,
  description: null,
  cancellable: true,
  validDays: null,
  delayDays: 0,
  limit: null,
  redeemsAutomatically: false,
  ...over,
});

export const TEN_PERCENT = terms(discount(10));
export const TEN_DOLLARS = terms(credit(1000), { when: 'CONVERTED' });

/** How a reward of the referral names where it comes from. */
export const OF_REFERRAL = {
  source: 'REFERRED',
  referralId: 'referral',
  programId: 'default',
  programVersion: 1,
} as const;

/** The start by Ann's code under the default program, and what it grants Bob. */
export const startedNow = (over: Partial<AccountEventOf<'ReferralStarted'>> = {}) =>
  referralStarted('referral', BOB, ANN, {
    at: NOW,
    code: { subject: ANN.person, value: 'ANNLEE' },
    referredReward: TEN_PERCENT,
    ...over,
  });
export const startReward = (at = NOW) =>
  rewardGranted('reward-of-start', BOB, discount(10), { at, ...OF_REFERRAL });

export const ON_PURCHASE = {
  on: 'EVENT',
  key: 'purchase',
  firstTimeOnly: false,
  minimum: null,
} as const;

export const aProgram = (over: Partial<Program> = {}): Program => ({ ...DEFAULT, ...over });

export const aCode = (code: string, party: Party, over: Partial<CodeOwner> = {}): CodeOwner => ({
  code,
  programId: 'default',
  party,
  referredBy: null,
  formerReferrals: [],
  ...over,
});
export const ANNS_CODE = aCode('ANNLEE', ANN);

/** The referrer has nothing in common with other people, and is not blocked. */
export const A_FRIEND: Referrer = {
  blocked: false,
  likeness: { firstName: null, lastName: null, email: null, firstSeenIP: null, lastSeenIP: null },
};
export const BLOCKED: Referrer = { ...A_FRIEND, blocked: true };

/**
 * What the referrer's account says: these referrals were announced, oldest first; the one that is
 * about to start comes last.
 */
export const announced = (...earlier: readonly AnnouncedReferral[]): Provided => ({
  ...NOTHING_PROVIDED,
  announced: {
    referral: {
      announced: List([
        ...earlier,
        { referralId: 'referral', account: ACME.accountRef, person: ANN.person, at: NOW },
      ]),
      referredBy: null,
    },
  },
});
const ANNOUNCED = announced();

/** No code was given and none stands. */
export const noCode = (over: Partial<ReferralContext> = {}): ReferralContext => ({
  now: NOW,
  account: ACME.accountRef,
  codeOwner: null,
  referrer: null,
  program: null,
  referralId: 'referral',
  rewardIds: { started: 'reward-of-start', converted: 'reward-of-conversion' },
  provided: ANNOUNCED,
  ...over,
});

export const annsCode = (over: Partial<ReferralContext> = {}): ReferralContext =>
  noCode({ codeOwner: ANNS_CODE, referrer: A_FRIEND, program: DEFAULT, ...over });

/** Ann's code stands already: looked up are she and the program. */
export const annStands = (over: Partial<ReferralContext> = {}): ReferralContext =>
  annsCode({ codeOwner: null, ...over });

export const given = scenarioOf({ decide, evolve, initialState });

export const fold = (events: readonly AccountEvent[]): AccountState =>
  events.reduce<AccountState>(evolve, initialState);

export function opened(state: AccountState): OpenAccount {
  if (state.status === 'absent') throw new Error('the account is not there');
  return state;
}

export function refOf(state: AccountState, rewardId: string) {
  const reward = opened(state).rewards.get(rewardId);
  if (!reward) throw new Error(`no reward ${rewardId}`);
  return rewardRef(reward);
}
