import type { AccountEvent, AccountEventOf, Adjustment } from '../domain/account/account.events.js';
import { unitKey, type RewardPhase } from '../domain/account/account.state.js';
import { bySoonestExpiry } from '../domain/account/rewards/spendable.js';
import { countedAt } from '../domain/fact.js';
import type { Position } from '../event-log/event-log.js';

/**
 * An account's credit in double entry, derived from its events: every posting moves an amount from
 * one ledger account (debit) to another (credit), so that debits equal credits in every unit.
 * See the picture in docs/ledger.md.
 */

/**
 * `programme`: the cost of the tenant's programmes. `scheduled`, `available`: the liability, later
 * or now. `redeemed`, `expired`, `cancelled`: its end. `forfeited`: credit of forgotten people.
 */
export const LEDGER_ACCOUNTS = [
  'programme',
  'scheduled',
  'available',
  'redeemed',
  'expired',
  'cancelled',
  'forfeited',
] as const;
export type LedgerAccount = (typeof LEDGER_ACCOUNTS)[number];

export type PostingType =
  | 'issued'
  | 'scheduled'
  | 'available'
  | 'redeemed'
  | 'expired'
  | 'cancelled'
  | 'restored'
  | 'forfeited'
  /** The opening balance of an imported reward: its available credit. */
  | 'imported';

/** The events that move credit, or select the credit of a large redemption. */
export const POSTED_TYPES = [
  ...(['RewardGranted', 'RewardBecameAvailable', 'RewardExpired', 'CreditRedeemed'] as const),
  ...(['AccountCreditRedeemed', 'RewardCancelled', 'RewardRestored', 'ErasureRequested'] as const),
  ...(['RewardPushStarted', 'RewardPushed', 'RewardPushRefused'] as const),
] as const satisfies readonly AccountEvent['type'][];

export type PostedEvent = AccountEventOf<(typeof POSTED_TYPES)[number]>;

/** An event of the account with the envelope members of a statement line. Epoch milliseconds. */
export interface Entry {
  readonly event: PostedEvent;
  readonly eventId: string;
  readonly position: Position;
  readonly recordedAt: number;
  /** As shown; for a correction the proposer. */
  readonly actor: string;
}

export interface Posting {
  readonly type: PostingType;
  readonly rewardId: string;
  /** In lower case, because units are compared without case. */
  readonly unitKey: string;
  /** Above zero. */
  readonly amount: number;
  readonly debit: LedgerAccount;
  readonly credit: LedgerAccount;
  /** The event of the posting, or the event that set the date that passed. */
  readonly entry: Entry;
  readonly effectiveAt: number;
  /** The date has passed, but no event records it yet. */
  readonly byClock: boolean;
  readonly adjustment: Adjustment | undefined;
}

type Amounts = Record<LedgerAccount, number>;

interface CreditReward {
  readonly rewardId: string;
  readonly person: string;
  readonly unitKey: string;
  readonly assigned: number;
  readonly scheduledFor: number | null;
  readonly dateExpires: number | null;
  readonly redeemsAutomatically: boolean;
  readonly granted: Entry;
  readonly dateGiven: number;
  redeemed: number;
  phase: RewardPhase;
  cancelled: boolean;
  forgotten: boolean;
  /** The payment provider may have received it: it cannot be spent. */
  pushing: boolean;
  /** The automatic redemption was posted on its date, before its event. */
  redeemedByClock: boolean;
  /** Amount per ledger account so far. */
  posted: Readonly<Amounts>;
}

/**
 * Folds an account's entries into postings. Never throws: the log may contain events that the
 * current rules would not produce.
 */
export class AccountPostings {
  private readonly rewards = new Map<string, CreditReward>();
  private readonly spellings = new Map<string, string>();
  private clock = -Infinity;

  post(entry: Entry): readonly Posting[] {
    const { event } = entry;
    switch (event.type) {
      case 'RewardGranted':
        return this.grant(entry, event);
      case 'RewardBecameAvailable':
        return this.change(entry, event, 'available', (reward) => (reward.phase = 'AVAILABLE'));
      case 'RewardExpired':
        return this.change(entry, event, 'expired', (reward) => (reward.phase = 'EXPIRED'));
      case 'CreditRedeemed':
        return this.change(entry, event, 'redeemed', (reward) => {
          reward.redeemed += event.amount;
          reward.redeemedByClock = false;
        });
      case 'AccountCreditRedeemed':
        return this.redeemInBulk(entry, event);
      case 'RewardCancelled':
        return this.change(entry, event, 'cancelled', (reward) => {
          reward.cancelled = true;
          reward.redeemedByClock = false;
        });
      case 'RewardRestored':
        return this.change(entry, event, 'restored', (reward) => (reward.cancelled = false));
      case 'ErasureRequested':
        return this.forget(entry, event);
      case 'RewardPushStarted':
        return this.push(event.rewardId, true);
      case 'RewardPushed':
        return this.push(event.rewardId, false);
      case 'RewardPushRefused':
        return this.push(event.rewardId, event.mayBePaid === true);
    }
  }

  /**
   * Posts the dates up to `now` that the log has not recorded. Their later events then post
   * nothing, so that the figures of a month's end do not change.
   */
  settle(now: number): readonly Posting[] {
    this.clock = Math.max(this.clock, now);
    return [...this.rewards.values()]
      .flatMap((reward) => this.settleReward(reward))
      .sort(
        (a, b) =>
          a.effectiveAt - b.effectiveAt ||
          (a.rewardId < b.rewardId ? -1 : a.rewardId > b.rewardId ? 1 : 0),
      );
  }

  /** Every unit that the account ever had, by lower case, in its first spelling. */
  get units(): ReadonlyMap<string, string> {
    return this.spellings;
  }

  /** Posted available credit by unit in lower case. */
  available(): Map<string, number> {
    const sums = new Map([...this.spellings.keys()].map((key) => [key, 0]));
    for (const { unitKey: key, posted } of this.rewards.values())
      sums.set(key, (sums.get(key) ?? 0) + posted.available);
    return sums;
  }

  /** Posted redeemed credit of people who are not forgotten, with imported rewards, by unit. */
  redeemed(): Map<string, number> {
    const sums = new Map<string, number>();
    for (const { unitKey: key, posted, forgotten } of this.rewards.values())
      if (!forgotten) sums.set(key, (sums.get(key) ?? 0) + posted.redeemed);
    return sums;
  }

  /** Units in which a person who is not forgotten was ever granted credit. */
  presentUnits(): ReadonlySet<string> {
    return new Set(
      [...this.rewards.values()]
        .filter(({ forgotten }) => !forgotten)
        .map((reward) => reward.unitKey),
    );
  }

  /** Rewards with an unrecorded date before `before`. */
  overdue(before: number): readonly { readonly unitKey: string }[] {
    return [...this.rewards.values()].filter(
      ({ phase, scheduledFor, dateExpires, cancelled, forgotten }) =>
        !cancelled &&
        !forgotten &&
        phase !== 'EXPIRED' &&
        ((phase === 'PENDING' && scheduledFor !== null && scheduledFor < before) ||
          (dateExpires !== null && dateExpires < before)),
    );
  }

  private grant(entry: Entry, event: AccountEventOf<'RewardGranted'>): readonly Posting[] {
    const { rewardId, person, value, dateScheduledFor, dateExpires, redeemsAutomatically } = event;
    const { imported } = event;
    if (value.type !== 'CREDIT' || this.rewards.has(rewardId)) return [];
    const key = unitKey(value.unit);
    if (!this.spellings.has(key)) this.spellings.set(key, value.unit);
    const reward: CreditReward = {
      rewardId,
      person,
      unitKey: key,
      assigned: value.assignedCredit,
      granted: entry,
      dateGiven: event.at,
      redeemsAutomatically,
      scheduledFor: dateScheduledFor,
      dateExpires,
      redeemed: imported?.redeemed ?? 0,
      redeemedByClock: false,
      phase: imported?.phase ?? (dateScheduledFor === null ? 'AVAILABLE' : 'PENDING'),
      cancelled: imported?.dateCancelled != null,
      forgotten: false,
      pushing: false,
      posted: amountsOf(0),
    };
    this.rewards.set(rewardId, reward);
    if (imported !== undefined && (imported.phase !== 'PENDING' || reward.cancelled))
      return this.move(reward, 'imported', entry, countedAt(entry));
    return this.move(reward, dateScheduledFor === null ? 'issued' : 'scheduled', entry, event.at);
  }

  private change(
    entry: Entry,
    { rewardId, at }: { readonly rewardId: string; readonly at: number },
    type: PostingType,
    change: (reward: CreditReward) => void,
  ): readonly Posting[] {
    const reward = this.rewards.get(rewardId);
    if (!reward) return [];
    change(reward);
    return this.move(reward, type, entry, at);
  }

  /** Redeems from the rewards that the event's rule selects; the later lists post nothing. */
  private redeemInBulk(
    entry: Entry,
    event: AccountEventOf<'AccountCreditRedeemed'>,
  ): readonly Posting[] {
    const { at } = event;
    let open = event.amount;
    return this.spendable(event).flatMap((reward) => {
      if (open <= 0) return [];
      const left = reward.assigned - reward.redeemed;
      const became = reward.phase === 'PENDING' ? this.becomeAvailable(entry, reward, at) : [];
      reward.redeemed += Math.min(open, left);
      open -= left;
      const target = this.targetOf(reward);
      const cause = { type: 'redeemed', entry, effectiveAt: at, byClock: false } as const;
      return [...became, ...transfers(reward, target, cause)];
    });
  }

  /** In the order of spending, which decisions use as well. */
  private spendable({ unit, onlyOf, at }: AccountEventOf<'AccountCreditRedeemed'>): CreditReward[] {
    return [...this.rewards.values()]
      .filter(
        (reward) =>
          reward.unitKey === unitKey(unit) &&
          (onlyOf === null || onlyOf === reward.person) &&
          isSpendable(reward, at),
      )
      .sort(bySoonestExpiry);
  }

  private push(rewardId: string, pushing: boolean): readonly Posting[] {
    const reward = this.rewards.get(rewardId);
    if (reward) reward.pushing = pushing;
    return [];
  }

  /** A bulk redemption may take scheduled credit whose date has passed. */
  private becomeAvailable(entry: Entry, reward: CreditReward, at: number): readonly Posting[] {
    reward.phase = 'AVAILABLE';
    return this.move(reward, 'available', entry, reward.scheduledFor ?? at);
  }

  private forget(
    entry: Entry,
    { persons, at }: AccountEventOf<'ErasureRequested'>,
  ): readonly Posting[] {
    return [...this.rewards.values()]
      .filter(({ person, forgotten }) => !forgotten && persons.includes(person))
      .flatMap((reward) => {
        reward.forgotten = true;
        return this.move(reward, 'forfeited', entry, at);
      });
  }

  private settleReward(reward: CreditReward): readonly Posting[] {
    const { scheduledFor, dateExpires, granted, cancelled, forgotten, phase, posted } = reward;
    if (cancelled || forgotten || phase === 'EXPIRED') return [];
    const isAvailable = phase === 'PENDING' && scheduledFor !== null && scheduledFor <= this.clock;
    const isExpired = dateExpires !== null && dateExpires <= this.clock;
    const steps: Posting[] = [];
    const step = (type: PostingType, at: number, target: Partial<Amounts>): void =>
      void steps.push(
        ...transfers(
          reward,
          { ...amountsOf(reward.assigned), ...target },
          { type, entry: granted, effectiveAt: at, byClock: true },
        ),
      );
    const left = reward.assigned - reward.redeemed;
    const { redeemed } = reward;
    if (isAvailable && posted.scheduled !== 0) {
      step('available', scheduledFor, { redeemed, available: left });
      if (reward.redeemsAutomatically) {
        reward.redeemedByClock = true;
        step('redeemed', scheduledFor, { redeemed: reward.assigned });
      }
    }
    if (isExpired) step('expired', dateExpires, this.targetOf(reward));
    return steps;
  }

  private move(
    reward: CreditReward,
    type: PostingType,
    entry: Entry,
    effectiveAt: number,
  ): readonly Posting[] {
    return transfers(reward, this.targetOf(reward), { type, entry, effectiveAt, byClock: false });
  }

  /** The ledger account of the reward's credit after its events and settled dates. */
  private targetOf(reward: CreditReward): Amounts {
    const { assigned, phase, scheduledFor, dateExpires, cancelled, forgotten, redeemedByClock } =
      reward;
    const redeemed = redeemedByClock && !cancelled ? assigned : reward.redeemed;
    const left = assigned - redeemed;
    const target = amountsOf(assigned);
    target.redeemed = redeemed;
    if (forgotten) target.forfeited = left;
    else if (cancelled) target.cancelled = left;
    else if (phase === 'EXPIRED' || (dateExpires !== null && dateExpires <= this.clock))
      target.expired = left;
    else if (phase === 'PENDING' && (scheduledFor ?? Infinity) > this.clock)
      target.scheduled = left;
    else target.available = left;
    return target;
  }
}

function isSpendable(reward: CreditReward, at: number): boolean {
  const { cancelled, forgotten, pushing, redeemsAutomatically, phase, dateExpires } = reward;
  if (cancelled || forgotten || pushing || redeemsAutomatically) return false;
  const isDue = phase === 'AVAILABLE' || (reward.scheduledFor ?? 0) <= at;
  const hasExpired = phase === 'EXPIRED' || (dateExpires ?? Infinity) <= at;
  return reward.assigned > reward.redeemed && isDue && !hasExpired;
}

type Cause = Pick<Posting, 'type' | 'entry' | 'effectiveAt' | 'byClock'>;

/** The programme bears the whole cost, whatever account the credit is in. */
const amountsOf = (assigned: number): Amounts => ({
  programme: -assigned,
  scheduled: 0,
  available: 0,
  redeemed: 0,
  expired: 0,
  cancelled: 0,
  forfeited: 0,
});

/** Moves the current amounts to the target with the fewest transfers. */
function transfers(reward: CreditReward, target: Amounts, cause: Cause): Posting[] {
  const { type, entry, effectiveAt, byClock } = cause;
  const { posted, rewardId, unitKey: key } = reward;
  const adjustment = byClock || !('adjustment' in entry.event) ? undefined : entry.event.adjustment;
  const moved = LEDGER_ACCOUNTS.map((account) => posted[account] - target[account]);
  const postings: Posting[] = [];
  for (;;) {
    const from = moved.findIndex((amount) => amount > 0);
    const to = moved.findIndex((amount) => amount < 0);
    const [debit, credit] = [LEDGER_ACCOUNTS[from], LEDGER_ACCOUNTS[to]];
    const [taken, given] = [moved[from], moved[to]];
    if (!debit || !credit || taken === undefined || given === undefined) break;
    const amount = Math.min(taken, -given);
    moved[from] = taken - amount;
    moved[to] = given + amount;
    postings.push({
      type,
      rewardId,
      unitKey: key,
      amount,
      debit,
      credit,
      entry,
      effectiveAt,
      byClock,
      adjustment,
    });
  }
  reward.posted = target;
  return postings;
}
