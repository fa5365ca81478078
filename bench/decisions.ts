import { decide, type AccountCommand } from '../src/domain/account/account.decider.js';
import type { AccountEvent } from '../src/domain/account/account.events.js';
import {
  evolve,
  initialState,
  type AccountState,
  type OpenAccount,
} from '../src/domain/account/account.state.js';
import { availableCredit } from '../src/domain/account/redemption.js';

/**
 * The duration of decisions on an account with few rewards and announcements, with many, and with
 * very many: no command may block the event loop because of an account's long past. Half of the
 * rewards expire, a tenth have expired, a tenth are scheduled.
 */
const SIZES = [100, 1_000, 100_000] as const;
const ROUNDS = 200;
const AIM_MS = 1;
const NOW = 1_700_000_000_000;
const DAY_MS = 86_400_000;
const PERSON = '00000000-0000-8000-a000-000000000001';

function reward(index: number): AccountEvent {
  const dates = index % 10 === 0 ? -1 : index % 10;
  return {
    type: 'RewardGranted',
    at: NOW - 100 * DAY_MS + index,
    rewardId: `reward-${(index * 7919) % 1_000_003}`,
    person: PERSON,
    owner: { subject: PERSON, value: { accountId: 'a', userId: 'u' } },
    source: 'MANUAL',
    value: { type: 'CREDIT', unit: 'CENTS', assignedCredit: 10, currency: null },
    texts: { subject: PERSON, value: null },
    cancellable: true,
    dateScheduledFor: index % 10 === 3 ? NOW + DAY_MS + index : null,
    dateExpires: index % 2 === 0 ? NOW + dates * DAY_MS + index : null,
    referralId: null,
    programId: null,
    programVersion: null,
    rule: null,
    redeemsAutomatically: false,
  };
}

const announced = (index: number): AccountEvent => ({
  type: 'ReferralAnnounced',
  at: NOW - 100 * DAY_MS + index,
  referralId: `referral-${index}`,
  account: `a-${index}`,
  person: PERSON,
});

function accountOf(size: number): { readonly state: OpenAccount; readonly foldMs: number } {
  const events: AccountEvent[] = [
    {
      type: 'AccountOpened',
      at: 1,
      account: PERSON,
      accountId: { subject: PERSON, value: 'a' },
      currency: 'USD',
    },
    ...Array.from({ length: size }, (_, index) => reward(index)),
    ...Array.from({ length: size }, (_, index) => announced(index)),
  ];
  const startedAt = performance.now();
  const state = events.reduce<AccountState>(evolve, initialState);
  if (state.status === 'absent') throw new Error('the account is not there');
  return { state, foldMs: performance.now() - startedAt };
}

const command = (given: AccountCommand) => (state: OpenAccount) => void decide(state, given);
const redeem = (amount: number) =>
  command({ type: 'RedeemAccountCredit', amount, unit: 'CENTS', redemptionId: 'r', now: NOW });

const WORK: Readonly<Record<string, (state: OpenAccount) => void>> = {
  'redeem 1': redeem(1),
  'redeem too much': redeem(Number.MAX_SAFE_INTEGER),
  'available credit': (state) => void availableCredit(state, 'CENTS', NOW),
  announce: command({
    type: 'AnnounceReferral',
    referralId: 'new',
    account: 'new',
    person: PERSON,
    now: NOW,
  }),
  withdraw: (state) =>
    void evolve(state, { type: 'ReferralWithdrawn', at: NOW, referralId: 'referral-50' }),
  'release a moderation': command({ type: 'ReleaseModeration', moderationId: 'm', now: NOW }),
};

function medianMs(work: () => void): number {
  const times = Array.from({ length: ROUNDS }, () => {
    const startedAt = performance.now();
    work();
    return performance.now() - startedAt;
  }).sort((a, b) => a - b);
  return times[ROUNDS / 2] ?? NaN;
}

const accounts = SIZES.map(accountOf);
console.log(
  `medians of ${ROUNDS} decisions in ms, on accounts with so many rewards and announcements`,
);
console.log(['', ...SIZES.map(String), `to ${SIZES[0]}`].map((text) => text.padStart(18)).join(''));
for (const [name, work] of Object.entries(WORK)) {
  const all = accounts.map(({ state }) => medianMs(() => work(state)));
  const most = all.at(-1) ?? NaN;
  const columns = [name, ...all.map((ms) => ms.toFixed(4)), (most / (all[0] ?? NaN)).toFixed(1)];
  console.log(
    `${columns.map((text) => text.padStart(18)).join('')}   ${most <= AIM_MS ? 'met' : 'missed'} (${AIM_MS} ms)`,
  );
}
console.log(
  ['fold', ...accounts.map(({ foldMs }) => foldMs.toFixed(1))]
    .map((text) => text.padStart(18))
    .join(''),
);
