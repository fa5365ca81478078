import { createHash } from 'node:crypto';
import type { AccountEvent, Profile } from '../../../src/domain/account/account.events.js';
import type { ExportFilters, ExportType } from '../../../src/exports/export-order.js';
import type { TestAccount } from '../../support/account-events.js';

/**
 * What files should contain, folded from events: nothing here is shared with projectors, queries or
 * writers.
 */

type Value = string | number | null;

interface Row {
  readonly created: number;
  readonly changed: number;
  readonly programId: string | null;
  /** Breaks ties of `created`. */
  readonly tie: string;
  readonly cells: Readonly<Record<string, Value>>;
}

interface User {
  readonly account: TestAccount;
  readonly person: string;
  profile: Profile;
  code: string | null;
  readonly created: number;
  changed: number;
}

interface Reward {
  readonly id: string;
  readonly owner: { readonly accountId: string; readonly userId: string; readonly person: string };
  readonly account: TestAccount;
  readonly type: string;
  readonly unit: string | null;
  readonly amount: number;
  readonly source: string;
  readonly programId: string | null;
  readonly created: number;
  readonly expires: number | null;
  cancelled: number | null;
  phase: 'PENDING' | 'AVAILABLE' | 'EXPIRED';
  redeemed: number;
  changed: number;
}

interface Side {
  readonly person: string;
  ids: { readonly accountId: string; readonly userId: string } | null;
  status: string;
  reward: { readonly id: string; readonly at: number } | null;
}

interface Referral {
  readonly id: string;
  readonly account: TestAccount;
  readonly programId: string;
  readonly referred: Side;
  readonly referrer: Side;
  readonly started: number;
  paid: number | null;
  ended: number | null;
  moderated: number;
  changed: number;
}

export class ExpectedLedger {
  private readonly accountIds = new Map<string, string>();
  private readonly users = new Map<string, User>();
  private readonly rewards = new Map<string, Reward>();
  private readonly referrals = new Map<string, Referral>();
  /** Rewards of a referral may be granted before it starts elsewhere. */
  private readonly sideRewards = new Map<string, { id: string; at: number; person: string }>();

  constructor(private readonly publicUrl: string) {}

  happened(account: TestAccount, event: AccountEvent): void {
    // eslint-disable-next-line @typescript-eslint/switch-exhaustiveness-check -- no cell in others
    switch (event.type) {
      case 'AccountOpened':
        if (event.accountId.value !== null)
          this.accountIds.set(account.accountRef, event.accountId.value);
        return;
      case 'UserIdentified':
        if (event.profile.value === null) return;
        this.users.set(event.person, {
          account,
          person: event.person,
          profile: event.profile.value,
          code: null,
          created: event.at,
          changed: event.at,
        });
        return;
      case 'UserProfileChanged':
        return this.user(event, (user) => {
          user.profile = { ...user.profile, ...event.changes.value };
        });
      case 'ReferralCodeAssigned':
        if (event.code.value === null) return;
        return this.user(event, (user) => {
          if (event.programId === 'default') user.code = event.code.value;
        });
      case 'UserBlocked':
      case 'UserUnblocked':
        return this.user(event, () => undefined);
      case 'ReferralStarted':
        if (this.referrals.has(event.referralId)) return;
        this.referrals.set(event.referralId, {
          id: event.referralId,
          account,
          programId: event.programId,
          referred: sideOf(event.referred, event.referredStatus),
          referrer: sideOf(event.referrer, event.referrerStatus),
          started: event.at,
          paid: null,
          ended: null,
          moderated: event.at,
          changed: event.at,
        });
        return;
      case 'ReferralConverted':
        return this.referral(event, (referral) => {
          referral.paid = event.at;
          referral.referred.status = event.referredStatus;
          referral.referrer.status = event.referrerStatus;
        });
      case 'ReferralModerated':
        return this.referral(event, (referral) => {
          referral.moderated = event.at;
          referral.referred.status = event.referredStatus;
          referral.referrer.status = event.referrerStatus;
        });
      case 'ReferralEnded':
        return this.referral(event, (referral) => {
          referral.ended = event.at;
        });
      case 'RewardGranted':
        return this.granted(account, event);
      case 'CreditRedeemed':
        return this.reward(event, (reward) => {
          reward.redeemed += event.amount;
        });
      case 'RewardCancelled':
        return this.reward(event, (reward) => {
          reward.cancelled ??= event.at;
        });
      case 'RewardRestored':
        return this.reward(event, (reward) => {
          reward.cancelled = null;
        });
      case 'RewardBecameAvailable':
      case 'RewardExpired': {
        // No cell of the reward says it.
        const reward = this.rewards.get(event.rewardId);
        if (reward) reward.phase = event.type === 'RewardExpired' ? 'EXPIRED' : 'AVAILABLE';
        return;
      }
      case 'ErasureRequested':
      case 'ErasureCompleted':
        return this.erased(account, event);
      default:
        return;
    }
  }

  /** Oldest first; the custom fields of these users are the last columns. */
  rowsOf(
    type: ExportType,
    scope: { readonly tenant: string; readonly mode: string },
    filters: ExportFilters = {},
  ): Readonly<Record<string, Value>>[] {
    const isOf = ({ account }: { readonly account: TestAccount }): boolean =>
      account.tenant === scope.tenant && account.mode === scope.mode;
    return this.all(type, isOf)
      .filter((row) => matches(type, row, filters))
      .sort((a, b) => a.created - b.created || (a.tie < b.tie ? -1 : 1))
      .map(({ cells }) => cells);
  }

  private all(
    type: ExportType,
    isOf: (about: { readonly account: TestAccount }) => boolean,
  ): Row[] {
    switch (type) {
      case 'USER':
        return [...this.users.values()].filter(isOf).map((user) => this.userRow(user));
      case 'REFERRAL':
      case 'USER_REFERRAL':
        return [...this.referrals.values()].filter(isOf).map((one) => this.referralRow(one));
      case 'REWARD':
        return [...this.rewards.values()].filter(isOf).map(rewardRow);
      case 'REWARD_BALANCE':
      case 'USER_REWARD_BALANCE':
        return balanceRows([...this.rewards.values()].filter(isOf));
    }
  }

  private userRow({ account, person, profile, code, created, changed }: User): Row {
    const mode = account.mode === 'test' ? 'test/' : '';
    const link = (medium: string): string | null =>
      code && `${this.publicUrl}s/${account.tenant}/${mode}${code}?m=${medium}&e=UNKNOWN`;
    const { email } = profile;
    const fixed: Record<string, Value> = {
      id: profile.id,
      accountId: this.accountIds.get(account.accountRef) ?? null,
      email,
      firstName: profile.firstName,
      lastName: profile.lastName,
      imageUrl: profile.imageUrl,
      firstSeenIP: profile.firstSeenIP,
      lastSeenIP: profile.lastSeenIP,
      dateCreated: created,
      emailHash: email && createHash('md5').update(email.trim().toLowerCase()).digest('hex'),
      referralSource: profile.referralSource,
      locale: profile.locale,
      shareLink: link('DIRECT'),
      facebookShareLink: link('FACEBOOK'),
      twitterShareLink: link('TWITTER'),
      emailShareLink: link('EMAIL'),
      linkedinShareLink: link('LINKEDIN'),
      referralCode: code,
      segments: profile.segments.join(' '),
    };
    const custom = Object.entries(profile.customFields).map(([name, value]) => [
      Object.hasOwn(fixed, name) ? `customFields.${name}` : name,
      typeof value === 'boolean' ? String(value) : value,
    ]);
    return {
      created,
      changed,
      programId: null,
      tie: person,
      cells: { ...fixed, ...(Object.fromEntries(custom) as Record<string, Value>) },
    };
  }

  private referralRow(one: Referral): Row {
    const side = (name: 'referred' | 'referrer') => {
      const kept = this.sideRewards.get(`${one.id} ${name}`);
      const { ids, status } = one[name];
      return {
        [`${name}User`]: ids?.userId ?? null,
        [`${name}Account`]: ids?.accountId ?? null,
        [`${name}Reward`]: kept?.id ?? null,
        [`${name}ModerationStatus`]: status,
      };
    };
    const granted = ['referred', 'referrer'].map(
      (name) => this.sideRewards.get(`${one.id} ${name}`)?.at ?? 0,
    );
    return {
      created: one.started,
      changed: Math.max(one.changed, ...granted),
      programId: one.programId,
      tie: one.id,
      cells: {
        id: one.id,
        programId: one.programId,
        ...side('referred'),
        ...side('referrer'),
        dateReferralStarted: one.started,
        dateConverted: one.paid,
        dateReferralPaid: one.paid,
        dateReferralEnded: one.ended,
        dateModerated: one.moderated,
      },
    };
  }

  private granted(
    account: TestAccount,
    event: Extract<AccountEvent, { type: 'RewardGranted' }>,
  ): void {
    const { value, owner, person, at, source, referralId } = event;
    if (!owner.value || this.rewards.has(event.rewardId)) return;
    const name = { REFERRED: 'referred', FRIEND_SIGNUP: 'referrer', MANUAL: '', EVENT: '' }[source];
    if (referralId !== null && name !== '')
      this.sideRewards.set(`${referralId} ${name}`, { id: event.rewardId, at, person });
    this.rewards.set(event.rewardId, {
      id: event.rewardId,
      owner: { ...owner.value, person },
      account,
      type: value.type,
      unit: value.type === 'PCT_DISCOUNT' ? '%' : value.unit,
      amount:
        value.type === 'CREDIT'
          ? value.assignedCredit
          : value.type === 'PCT_DISCOUNT'
            ? value.discountPercent
            : value.amount,
      source,
      programId: event.programId,
      created: at,
      expires: event.dateExpires,
      cancelled: null,
      phase: event.dateScheduledFor === null ? 'AVAILABLE' : 'PENDING',
      redeemed: 0,
      changed: at,
    });
  }

  private erased(
    account: TestAccount,
    event: Extract<AccountEvent, { type: 'ErasureRequested' | 'ErasureCompleted' }>,
  ): void {
    const gone = new Set(event.persons);
    for (const person of gone) this.users.delete(person);
    if (event.type === 'ErasureRequested' && event.account !== null)
      this.accountIds.delete(account.accountRef);
    for (const [id, { owner }] of this.rewards) if (gone.has(owner.person)) this.rewards.delete(id);
    for (const referral of this.referrals.values()) {
      for (const name of ['referred', 'referrer'] as const) {
        if (!gone.has(referral[name].person)) continue;
        referral[name].ids = null;
        this.sideRewards.delete(`${referral.id} ${name}`);
      }
    }
  }

  private user(
    { person, at }: { readonly person: string; readonly at: number },
    change: (user: User) => void,
  ): void {
    const user = this.users.get(person);
    if (!user) return;
    change(user);
    user.changed = at;
  }

  private referral(
    { referralId, at }: { readonly referralId: string; readonly at: number },
    change: (referral: Referral) => void,
  ): void {
    const referral = this.referrals.get(referralId);
    if (!referral) return;
    change(referral);
    referral.changed = at;
  }

  private reward(
    { rewardId, at }: { readonly rewardId: string; readonly at: number },
    change: (reward: Reward) => void,
  ): void {
    const reward = this.rewards.get(rewardId);
    if (!reward) return;
    change(reward);
    reward.changed = at;
  }
}

function sideOf(
  { person, ids }: { readonly person: string; readonly ids: { readonly value: Side['ids'] } },
  status: string,
): Side {
  return { person, ids: ids.value, status, reward: null };
}

const rewardRow = (reward: Reward): Row => ({
  created: reward.created,
  changed: reward.changed,
  programId: reward.programId,
  tie: reward.id,
  cells: {
    id: reward.id,
    type: reward.type,
    userId: reward.owner.userId,
    accountId: reward.owner.accountId,
    unit: reward.unit,
    amount: reward.amount,
    rewardSource: reward.source,
    dateGiven: reward.created,
    dateExpires: reward.expires,
    dateCancelled: reward.cancelled,
  },
});

function balanceRows(rewards: readonly Reward[]): Row[] {
  const balances = new Map<string, Reward[]>();
  for (const reward of rewards) {
    const { person } = reward.owner;
    const key = [reward.account.accountRef, person, reward.type, reward.unit?.toLowerCase() ?? ''];
    const tie = key.join('\u0000');
    balances.set(tie, [...(balances.get(tie) ?? []), reward]);
  }
  return [...balances].map(([tie, ofBalance]) => {
    const [first] = ofBalance;
    if (!first) throw new Error('an empty balance');
    const available = ofBalance.filter(
      ({ cancelled, phase }) => cancelled === null && phase === 'AVAILABLE',
    );
    const worth = ({ type, amount, redeemed }: Reward): number =>
      type === 'CREDIT' ? amount - redeemed : type === 'PCT_DISCOUNT' ? amount : 1;
    const created = Math.min(...ofBalance.map((reward) => reward.created));
    return {
      created,
      changed: created,
      programId: null,
      tie,
      cells: {
        userId: first.owner.userId,
        accountId: first.owner.accountId,
        type: first.type,
        amount: available.reduce((sum, reward) => sum + worth(reward), 0),
        unit: first.unit,
      },
    };
  });
}

function matches(type: ExportType, row: Row, filters: ExportFilters): boolean {
  if (type === 'REWARD_BALANCE' || type === 'USER_REWARD_BALANCE') return true;
  const isIn = (time: number, since = -Infinity, before = Infinity): boolean =>
    time >= since && time < before;
  const { createdOrUpdatedSince: since, createdOrUpdatedBefore: before } = filters;
  return (
    isIn(row.created, filters.createdSince, filters.createdBefore) &&
    isIn(row.changed, filters.updatedSince, filters.updatedBefore) &&
    (isIn(row.created, since, before) || isIn(row.changed, since, before)) &&
    (type === 'USER' || filters.programId === undefined || row.programId === filters.programId)
  );
}
