import { z } from 'zod';
import {
  NoAnswer,
  positionOf,
  type Answer,
  type LedgerClient,
} from '../test/harness/ledger-client.js';
import type { SeededRandom } from '../test/harness/seeded-random.js';

/**
 * A client that works like real ones (accounts, users, codes, conversions, rewards, redemptions,
 * moderation) and records every answer, so that the state after a crash can be compared with the
 * answers before. A write without an answer, or with a 503, may have happened or not: both are
 * accepted until a repetition with the same key shows which.
 */

/** A write with an idempotency key, to be repeated after the crash. */
export interface KeyedWrite {
  readonly path: string;
  readonly body: unknown;
  readonly key: string;
  /** Undefined: unknown. */
  answer: Answer | undefined;
  /** How the answer changes the book. */
  readonly learn: (answer: Answer) => void;
}

/** The possible values, the most likely one last. `undefined` among them: it may not exist. */
type Possible<T> = T[];

export interface BelievedAccount {
  readonly id: string;
  readonly status: Possible<string | undefined>;
  readonly firstName: Possible<string | undefined>;
  /**
   * Manual credit granted and redeemed, over all rewards of the account; an unknown amount may be
   * in it or not.
   */
  granted: number;
  grantedPerhaps: number;
  redeemed: number;
  redeemedPerhaps: number;
}

export interface BelievedReferral {
  readonly referredId: string;
  readonly referrerId: string;
  /**
   * Whether the first user was identified, so that the referral has started, and whether it has
   * converted.
   */
  readonly started: Possible<boolean>;
  readonly converted: Possible<boolean>;
  readonly referrerStatus: Possible<string>;
}

/** Several referrals moderated by one request: all of them, or none. */
export interface BelievedModeration {
  readonly status: string;
  /** With the status that each had before, where that was certain. */
  readonly referrals: readonly { readonly referredId: string; readonly before: string }[];
}

export interface BelievedReward {
  readonly accountId: string;
  readonly id: string;
  readonly assigned: number;
  readonly cancelled: Possible<boolean>;
}

const codeBody = z.object({ referralCode: z.string() });
const rewardBody = z.object({ id: z.string(), assignedCredit: z.number() });
const redeemedBody = z.object({ creditRedeemed: z.number() });
export const referralsBody = z.object({
  referrals: z.array(
    z.object({
      id: z.string(),
      dateReferralPaid: z.number().nullable(),
      referredModerationStatus: z.string(),
      referrerModerationStatus: z.string(),
      referrerReward: z.object({ id: z.string(), dateCancelled: z.number().nullable() }).nullable(),
    }),
  ),
});

const PAID = { status: 'PAID', billingIntervalType: 'MONTH', billingIntervalValue: 1, value: 9.5 };
const UNIT = 'CENTS';

/**
 * One client in a closed loop: it sends the next request when the last one is answered. Ends at the
 * first unknown outcome.
 */
export class MixedLoad {
  readonly accounts = new Map<string, BelievedAccount>();
  readonly referrals: BelievedReferral[] = [];
  readonly keyed: KeyedWrite[] = [];
  /** Of acknowledged writes, in the order of the answers. */
  readonly positions: string[] = [];
  /** Answers that no client may get under any fault. */
  readonly violations: string[] = [];
  requests = 0;
  /** Granted by hand. */
  readonly rewards: BelievedReward[] = [];
  /** Without an answer: whether it happened is unknown. */
  moderationInDoubt: BelievedModeration | undefined;
  private referrer: { readonly id: string; readonly code: string } | undefined;
  private stopped = false;

  constructor(
    private readonly client: LedgerClient,
    private readonly name: string,
    private readonly random: SeededRandom,
  ) {}

  stop(): void {
    this.stopped = true;
  }

  /** Until stopped or until an answer is missing. @throws only for faults of this program. */
  async run(): Promise<void> {
    try {
      while (!this.stopped) await this.step();
    } catch (error) {
      if (!(error instanceof Unknown)) throw error;
    }
  }

  private async step(): Promise<void> {
    const { referrer } = this;
    if (!referrer || this.random.chance(0.05)) return this.openReferrer();
    const steps = [
      () => this.refer(referrer),
      () => this.convert(),
      () => this.convert(),
      () => this.grant(referrer.id),
      () => this.redeem(),
      () => this.redeem(),
      () => this.redeemInBulk(referrer.id),
      () => this.rename(),
      () => this.moderate(),
      () => this.moderateTogether(),
      () => this.cancel(),
    ];
    return this.random.pick(steps)();
  }

  private async openReferrer(): Promise<void> {
    const id = this.newId('referrer');
    const account = await this.sync(id, 'TRIAL');
    await this.identify(account, `${id}-1`, (answer) => {
      const code = codeBody.safeParse(answer.body).data?.referralCode;
      if (code === undefined) this.unexpected('a user with a code', answer);
      else this.referrer = { id, code };
    });
  }

  /** The account comes with a code; the referral starts with its first user. */
  private async refer(referrer: { readonly id: string; readonly code: string }): Promise<void> {
    const id = this.newId('referred');
    const account = await this.sync(id, 'TRIAL', referrer.code);
    const referral: BelievedReferral = {
      referredId: id,
      referrerId: referrer.id,
      started: [false],
      converted: [false],
      referrerStatus: ['APPROVED'],
    };
    this.referrals.push(referral);
    referral.started.push(true);
    await this.identify(account, `${id}-1`, () => settle(referral.started, true));
  }

  private async convert(): Promise<void> {
    const open = this.referrals.filter(({ converted }) => !converted.includes(true));
    if (open.length === 0) return;
    const referral = this.random.pick(open);
    referral.converted.push(true);
    await this.sync(referral.referredId, 'PAID', undefined, () => settle(referral.converted, true));
  }

  private async grant(accountId: string): Promise<void> {
    const account = this.account(accountId);
    const assigned = this.random.integer(50, 5_000);
    account.grantedPerhaps = assigned;
    const body = { type: 'CREDIT', unit: UNIT, assignedCredit: assigned };
    await this.write(`rewards/account/${accountId}/user/${accountId}`, body, (answer) => {
      account.grantedPerhaps = 0;
      const reward = rewardBody.safeParse(answer.body).data;
      if (answer.status !== 201 || reward?.assignedCredit !== assigned)
        return this.unexpected('a reward', answer);
      account.granted += assigned;
      this.rewards.push({ accountId, id: reward.id, assigned, cancelled: [false] });
    });
  }

  private async redeem(): Promise<void> {
    if (this.rewards.length === 0) return;
    const { accountId, id, assigned } = this.random.pick(this.rewards);
    const amount = this.random.integer(1, Math.ceil(assigned / 3));
    await this.spend(accountId, `credit/${id}/redeem`, { amount, unit: UNIT }, amount);
  }

  private async redeemInBulk(accountId: string): Promise<void> {
    const amount = this.random.integer(1, 1_500);
    await this.spend(accountId, 'credit/bulkredeem', { accountId, amount, unit: UNIT }, amount);
  }

  private async spend(
    accountId: string,
    path: string,
    body: unknown,
    amount: number,
  ): Promise<void> {
    const account = this.account(accountId);
    account.redeemedPerhaps = amount;
    await this.write(path, body, (answer) => {
      account.redeemedPerhaps = 0;
      if (
        answer.status === 200 &&
        redeemedBody.safeParse(answer.body).data?.creditRedeemed === amount
      )
        account.redeemed += amount;
      else if (answer.status !== 400 || codeOf(answer) !== 'INVALD_REWARD_REDEMPTION')
        this.unexpected('a redemption', answer);
    });
  }

  private async rename(): Promise<void> {
    const account = this.random.pick([...this.accounts.values()]);
    await this.identify(account, this.newId('name'), () => undefined);
  }

  private async cancel(): Promise<void> {
    const open = this.rewards.filter(({ cancelled }) => known(cancelled, false));
    if (open.length === 0) return;
    const { id, cancelled } = this.random.pick(open);
    cancelled.push(true);
    await this.write(`reward/${id}/cancel`, {}, (answer) => {
      if (answer.status === 200) return settle(cancelled, true);
      if (answer.status !== 400 || codeOf(answer) !== 'REWARD_NOT_CANCELLABLE')
        this.unexpected('a cancelled reward', answer);
      settle(cancelled, false);
    });
  }

  private async moderateTogether(): Promise<void> {
    const started = this.referrals.filter((referral) => known(referral.started, true));
    const together = started.slice(-this.random.integer(2, 5));
    if (together.length < 2) return;
    const status = this.random.pick(['APPROVED', 'DENIED']);
    const actions: { readonly referralId: string; readonly action: string }[] = [];
    for (const referral of together) {
      const referralId = await this.idOf(referral);
      if (referralId === undefined) return;
      actions.push({ referralId, action: `REFERRER_${status}` });
    }
    const certain = together.flatMap(({ referredId, referrerStatus: [before, ...others] }) =>
      before !== undefined && others.every((other) => other === before)
        ? [{ referredId, before }]
        : [],
    );
    for (const { referrerStatus } of together) referrerStatus.push(status);
    this.moderationInDoubt = { status, referrals: certain };
    await this.write('referrals/moderate', { actions }, (answer) => {
      this.moderationInDoubt = undefined;
      if (answer.status === 200)
        return together.forEach(({ referrerStatus }) => settle(referrerStatus, status));
      if (answer.status !== 400 || codeOf(answer) !== 'MODERATION_NOT_POSSIBLE')
        this.unexpected('a moderation of several', answer);
      for (const { referrerStatus } of together) referrerStatus.pop();
    });
  }

  private async idOf({ referredId }: BelievedReferral): Promise<string | undefined> {
    const list = await this.read(`referrals?referredAccountId=${referredId}`);
    const found = referralsBody.safeParse(list.body).data?.referrals ?? [];
    if (found.length !== 1) this.unexpected('one referral, read right after its start', list);
    return found[0]?.id;
  }

  private async moderate(): Promise<void> {
    const started = this.referrals.filter((referral) => known(referral.started, true));
    if (started.length === 0) return;
    const referral = this.random.pick(started);
    const referralId = await this.idOf(referral);
    if (referralId === undefined) return;
    const status = this.random.pick(['APPROVED', 'DENIED']);
    const action = `REFERRER_${status}`;
    referral.referrerStatus.push(status);
    await this.write('referrals/moderate', { actions: [{ referralId, action }] }, (answer) => {
      if (answer.status === 200) return settle(referral.referrerStatus, status);
      // A redeemed reward can no longer be denied.
      if (answer.status !== 400 || codeOf(answer) !== 'MODERATION_NOT_POSSIBLE')
        this.unexpected('a moderation', answer);
      referral.referrerStatus.pop();
    });
  }

  private async sync(
    id: string,
    status: string,
    code?: string,
    learn: () => void = () => undefined,
  ): Promise<BelievedAccount> {
    const account = this.account(id);
    const subscription = status === 'PAID' ? PAID : { status };
    account.status.push(status);
    await this.write(
      'accountsync',
      { id, subscription, ...(code === undefined ? {} : { referral: { code } }) },
      (answer) => {
        if (answer.status !== 200) return this.unexpected('an account', answer);
        settle(account.status, status);
        learn();
      },
    );
    return account;
  }

  private async identify(
    account: BelievedAccount,
    firstName: string,
    learn: (answer: Answer) => void,
  ): Promise<void> {
    account.firstName.push(firstName);
    await this.write('user', { id: account.id, accountId: account.id, firstName }, (answer) => {
      if (answer.status !== 200) return this.unexpected('a user', answer);
      settle(account.firstName, firstName);
      learn(answer);
    });
  }

  /**
   * `learn` is called with the answer, now or after the crash. @throws {Unknown} when there is none
   * now.
   */
  private async write(path: string, body: unknown, learn: (answer: Answer) => void): Promise<void> {
    const keyed = this.random.chance(0.6)
      ? { path, body, key: this.newId('key'), answer: undefined as Answer | undefined, learn }
      : undefined;
    if (keyed) this.keyed.push(keyed);
    this.requests++;
    const answer = await this.answered(
      this.client.post(path, body, keyed ? { 'Idempotency-Key': keyed.key } : {}),
    );
    if (keyed) keyed.answer = answer;
    const position = positionOf(answer);
    if (position !== undefined) this.positions.push(position);
    else if (answer.status < 300) this.violations.push(`POST ${path} names no position`);
    learn(answer);
  }

  private read(path: string): Promise<Answer> {
    this.requests++;
    return this.answered(this.client.get(path));
  }

  private async answered(pending: Promise<Answer>): Promise<Answer> {
    const answer = await pending.catch((error: unknown) => {
      if (error instanceof NoAnswer) throw new Unknown();
      throw error;
    });
    // A store that is away: as good as no answer. Any other 5xx is a fault, and whether it had an
    // effect is unknown, too.
    if (answer.status >= 500 && answer.status !== 503)
      this.unexpected('anything but a fault', answer);
    if (answer.status >= 500) throw new Unknown();
    return answer;
  }

  private account(id: string): BelievedAccount {
    const known = this.accounts.get(id);
    if (known) return known;
    const account = {
      id,
      status: [undefined],
      firstName: [undefined],
      granted: 0,
      grantedPerhaps: 0,
      redeemed: 0,
      redeemedPerhaps: 0,
    };
    this.accounts.set(id, account);
    return account;
  }

  private unexpected(expected: string, { status, body }: Answer): void {
    this.violations.push(`expected ${expected}, got ${status} ${JSON.stringify(body)}`);
  }

  private newId(kind: string): string {
    return `${this.name}-${kind}-${this.random.integer(0, 2 ** 31 - 1).toString(36)}`;
  }
}

/** The outcome cannot be known before the service is back. */
class Unknown extends Error {
  override readonly name = 'Unknown';
}

function settle<T>(possible: Possible<T>, value: T): void {
  possible.splice(0, possible.length, value);
}

/** True when the value is certain. */
export const known = <T>(possible: readonly T[], value: T): boolean =>
  possible.every((candidate) => candidate === value);

function codeOf({ body }: Answer): string | undefined {
  return z.object({ apiErrorCode: z.string() }).safeParse(body).data?.apiErrorCode;
}
