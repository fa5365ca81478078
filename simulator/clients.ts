import type { AccountRequest } from '../src/domain/account/requests/account-request.js';
import type { ModerationAction } from '../src/domain/moderation/moderation.decider.js';
import type { AccountRef, Scope } from '../src/domain/scope.js';
import { ApiError } from '../src/http/edge/api-error.js';
import type { Call } from '../src/http/edge/call.js';
import type { Written } from '../src/http/writing/command-gateway.js';
import { accountOfId, type KeyedNames } from '../src/privacy/keyed-names.js';
import type { SeededRandom } from './seeded-random.js';
import type { SimulatedService } from './service.js';

const DAY_MS = 86_400_000;
/** Begins the name of an account that is known by its hash. */
const BY_REF = 'ref:';

/** What a client asks for. */
export type Wish =
  | { readonly kind: 'account'; readonly accountId: string; readonly request: AccountRequest }
  | {
      readonly kind: 'moderation';
      readonly actions: readonly {
        readonly referralId: string;
        readonly action: ModerationAction;
      }[];
    };

/** How a request ended: `unknown` is a 503, or no answer at all. */
export type Ending =
  | { readonly kind: 'accepted'; readonly events: number; readonly isReplayed: boolean }
  | { readonly kind: 'refused'; readonly code: string }
  | { readonly kind: 'unknown' };

/** What the clients know together: a small world, so that they collide. */
export class KnownWorld {
  readonly accounts: readonly string[];
  readonly users = ['ann', 'bob', 'cat'] as const;
  readonly codes: string[] = [];
  readonly rewards: string[] = [];
  readonly referrals: string[] = [];

  constructor(accounts: number) {
    this.accounts = Array.from({ length: accounts }, (_, index) => `acc-${index}`);
  }

  learn({ state, events }: Written): void {
    for (const event of events) {
      if (event.type === 'RewardGranted') this.rewards.push(event.rewardId);
      if (event.type === 'ReferralStarted') this.referrals.push(event.referralId);
      if (event.type === 'ReferralCodeAssigned' && event.code.value !== null)
        this.codes.push(event.code.value);
    }
    if (state.referral && !this.referrals.includes(state.referral.referralId))
      this.referrals.push(state.referral.referralId);
  }
}

const ACTIONS = ['APPROVED', 'DENIED', 'REFERRED_DENIED', 'REFERRER_DENIED'] as const;
/** Codes that several people want. */
const WANTED_CODES = ['GOLD', 'gold', 'SILVER'] as const;
const PROVIDER_IDS = ['pay-1', 'pay-2'] as const;
const NEWEST_REWARDS = 20;
const NOBODY = { subject: '00000000-0000-4000-8000-000000000001', value: null };

type Random = Pick<SeededRandom, 'below' | 'onceIn' | 'oneOf' | 'weighted'>;

/** What the next wish may be about. */
interface Thing {
  readonly random: Random;
  readonly known: KnownWorld;
  readonly now: number;
  readonly userId: string;
  readonly accountId: string;
}

/** How often each kind is wished for: more of what has found faults. */
const WEIGHTS = {
  sync: 10,
  user: 14,
  code: 6,
  block: 3,
  reward: 12,
  redeem: 16,
  redeemAll: 10,
  cancel: 6,
  moderate: 8,
  forgetUser: 2,
  forgetAccount: 1,
  adjust: 3,
} as const;

const WISHES: Readonly<Record<keyof typeof WEIGHTS, (of: Thing) => AccountRequest>> = {
  sync: ({ random, known, accountId }) => ({
    type: 'SyncAccount',
    accountId,
    subscription: random.onceIn(3)
      ? { status: 'PAID', value: 1, billingIntervalType: 'MONTH', billingIntervalValue: 1 }
      : { status: random.oneOf(['TRIAL', 'FREE', 'CANCELLED'] as const) },
    currency: undefined,
    codes: someCodes(random, known),
  }),
  user: ({ random, known, userId }) => ({
    type: 'UpsertUser',
    userId,
    changes: { firstName: random.oneOf(['Ann', 'Bea', 'Cid']) },
    referralCode: random.onceIn(4) ? random.oneOf(WANTED_CODES) : undefined,
    referralCodes: {},
    paymentProviderId: random.onceIn(6) ? random.oneOf(PROVIDER_IDS) : undefined,
    codes: someCodes(random, known),
  }),
  code: ({ random, known, userId }) => ({
    type: 'ApplyCode',
    userId,
    code: known.codes.length > 0 ? random.oneOf(known.codes) : 'NONE',
  }),
  block: ({ random, userId }) => ({
    type: random.oneOf(['BlockUser', 'UnblockUser'] as const),
    userId,
  }),
  reward: ({ random, userId, now }) => ({
    type: 'CreateReward',
    userId,
    value: {
      type: 'CREDIT',
      unit: random.oneOf(['CENTS', 'cents', 'POINTS']),
      assignedCredit: 1 + random.below(500),
      currency: null,
    },
    name: null,
    description: null,
    cancellable: !random.onceIn(4),
    dateScheduledFor: random.onceIn(5) ? now + random.below(3 * DAY_MS) : null,
    dateExpires: random.onceIn(4) ? now + 3 * DAY_MS + random.below(3 * DAY_MS) : null,
  }),
  redeem: ({ random, known }) => ({
    type: 'RedeemCredit',
    rewardId: someReward(random, known),
    amount: 1 + random.below(300),
    unit: random.oneOf(['CENTS', 'POINTS']),
  }),
  redeemAll: ({ random }) => ({
    type: 'RedeemAccountCredit',
    amount: 1 + random.below(600),
    unit: random.oneOf(['CENTS', 'POINTS']),
  }),
  cancel: ({ random, known }) => ({ type: 'CancelReward', rewardId: someReward(random, known) }),
  moderate: () => {
    throw new RangeError('a moderation is no request of one account');
  },
  forgetUser: ({ random, userId }) => ({
    type: 'ForgetUser',
    userId,
    doNotTrack: random.onceIn(4),
    preserveEmptyAccount: random.onceIn(2),
  }),
  forgetAccount: ({ random }) => ({ type: 'ForgetAccount', doNotTrack: random.onceIn(4) }),
  adjust: ({ random, userId }) => ({
    type: 'AdjustCredit',
    userId,
    unit: 'CENTS',
    amount: random.onceIn(2) ? 1 + random.below(50) : -1 - random.below(50),
    reason: 'corrected',
    approvedBy: NOBODY,
    by: NOBODY,
  }),
};

/** Makes up the next wish. */
export function nextWish(random: Random, known: KnownWorld, now: number): Wish {
  const kind = random.weighted(WEIGHTS);
  if (kind === 'moderate' && known.referrals.length > 0) {
    const some = Array.from({ length: 1 + random.below(4) }, () => random.oneOf(known.referrals));
    const actions = [...new Set(some)].map((referralId) => ({
      referralId,
      action: random.oneOf(ACTIONS),
    }));
    return { kind: 'moderation', actions };
  }
  const accountId = random.oneOf(known.accounts);
  const userId = random.oneOf(known.users);
  const thing = { random, known, now, userId, accountId };
  const request = WISHES[kind === 'moderate' ? 'reward' : kind](thing);
  if (!('rewardId' in request)) return { kind: 'account', accountId, request };
  return { kind: 'account', accountId: accountOfReward(request.rewardId, accountId), request };
}

const someCodes = (random: Random, { codes }: KnownWorld): readonly string[] =>
  codes.length > 0 && random.onceIn(2) ? [random.oneOf(codes)] : [];

/** Mostly one of the newest. */
const someReward = (random: Random, { rewards }: KnownWorld): string =>
  rewards.length === 0
    ? 'none'
    : random.oneOf(random.onceIn(3) ? rewards : rewards.slice(-NEWEST_REWARDS));

/** The account of a reward is part of its id; the clients know it by that. */
const accountOfReward = (rewardId: string, otherwise: string): string =>
  accountOfId(rewardId) === undefined ? otherwise : `${BY_REF}${accountOfId(rewardId) ?? ''}`;

/** One try, on its way to a process. */
export interface Outgoing {
  readonly wish: Wish;
  readonly key: string | undefined;
  readonly body: string;
  readonly scope: Scope;
  readonly callId: string;
}

/** Sends one try through a process, as a controller does. Never rejects. */
export async function send(
  service: SimulatedService,
  outgoing: Outgoing,
  known: KnownWorld,
): Promise<Ending> {
  const answered = { events: 0, isReplayed: false };
  const call = callOf(outgoing, () => (answered.isReplayed = true));
  try {
    if (outgoing.wish.kind === 'moderation')
      await service.gateway.moderate(call, outgoing.wish.actions);
    else
      await sendToAccount(service, call, outgoing.wish, (written) => {
        known.learn(written);
        answered.events = written.events.length;
      });
    return { kind: 'accepted', ...answered };
  } catch (error) {
    return error instanceof ApiError && error.getStatus() < 500
      ? { kind: 'refused', code: error.code }
      : { kind: 'unknown' };
  }
}

async function sendToAccount(
  { gateway, names }: SimulatedService,
  call: Call,
  { accountId, request: command }: Extract<Wish, { kind: 'account' }>,
  onWritten: (written: Written) => void,
): Promise<void> {
  const account = accountRefIn(accountId, call.scope, names);
  if (command.type === 'ForgetUser' || command.type === 'ForgetAccount') {
    await gateway.forget(call, account, command);
    return;
  }
  const respond = (written: Written): unknown => {
    onWritten(written);
    return { events: written.events.length };
  };
  await gateway.write({ call, account, command, respond });
}

/** The hash of an account, from its id or from that hash itself. */
export const accountRefIn = (accountId: string, scope: Scope, names: KeyedNames): AccountRef =>
  accountId.startsWith(BY_REF)
    ? accountId.slice(BY_REF.length)
    : names.accountRef(scope, accountId);

/** As the edge makes it of a request; only what a write reads. */
function callOf({ wish, key, body, scope, callId }: Outgoing, onReplayed: () => void): Call {
  const reply = {
    header: (name: string) => {
      if (name === 'Idempotency-Replayed') onReplayed();
      return reply;
    },
    status: () => reply,
  };
  return {
    id: callId,
    scope,
    actor: { kind: 'api-key', id: 'key' },
    method: 'POST',
    target: `/${wish.kind}`,
    headers: key === undefined ? {} : { 'idempotency-key': key },
    body: JSON.parse(body) as unknown,
    reply,
  } as unknown as Call;
}
