import { RollForwardSums, type RollForward } from '../../bookkeeping/roll-forward.js';
import { AccountPostings, POSTED_TYPES } from '../../bookkeeping/postings.js';
import { effectOnAvailable } from '../../bookkeeping/statement.js';
import type { Core } from '../../core/core.js';
import type { AccountEvent, PersonId } from '../../domain/account/account.events.js';
import {
  evolve,
  initialState,
  unitOf,
  type AccountState,
  type OpenAccount,
} from '../../domain/account/account.state.js';
import type { Scope } from '../../domain/scope.js';
import type { Decoded } from '../../event-log/codec.js';
import type { Position } from '../../event-log/event-log.js';
import { pages } from '../../event-log/event-pages.js';
import { firstPosition } from '../../event-log/first-recorded.js';
import { clockOf, entryOf, findAccount, selectedEvents } from '../ledger/ledger-entries.js';
import { select, type SelectionOptions } from '../ledger/ledger-selection.js';
import { NotDone, type Outcome } from '../outcome.js';
import { eventInWords, valueInWords, type Known } from './event-in-words.js';

/** An account as an operator sees it, at a moment of its history. Times are ISO 8601. */
export interface AccountHistory {
  readonly account: string;
  /** Of the newest event included; null: none. */
  readonly position: Position | null;
  readonly isOpen: boolean;
  readonly currency: string | null;
  readonly subscription: string | null;
  readonly referral: ShownReferral | null;
  readonly people: readonly ShownPerson[];
  readonly rewards: readonly ShownReward[];
  /** Number of all rewards; the newest are listed. */
  readonly rewardCount: number;
  readonly units: readonly ShownUnit[];
  /** The newest first. */
  readonly events: readonly ShownEvent[];
  /** Of the whole selection. */
  readonly eventCount: number;
}

export interface ShownPerson {
  /** Null where they are not shown, or forgotten. */
  readonly userId: string | null;
  readonly name: string;
  readonly email: string | null;
  readonly since: string;
  readonly blockedSince: string | null;
  readonly codes: readonly string[];
}

export interface ShownReferral {
  readonly referralId: string;
  readonly referrerAccount: string | null;
  readonly referrerUser: string | null;
  readonly code: string | null;
  readonly referredStatus: string;
  readonly referrerStatus: string;
  readonly startedAt: string;
  readonly paidAt: string | null;
  readonly endedAt: string | null;
}

export interface ShownReward {
  readonly rewardId: string;
  readonly owner: string;
  readonly value: string;
  readonly unit: string | null;
  readonly redeemed: number;
  readonly state: string;
  readonly givenAt: string;
  readonly expiresAt: string | null;
}

/** Credit of a unit. `points`: the available credit after each movement. */
export interface ShownUnit {
  readonly unit: string;
  readonly assigned: number;
  readonly available: number;
  readonly pending: number;
  readonly redeemed: number;
  readonly expired: number;
  readonly cancelled: number;
  readonly points: readonly { readonly at: number; readonly balance: number }[];
}

export interface ShownEvent {
  readonly eventId: string;
  readonly position: Position;
  readonly revision: string;
  readonly recordedAt: string;
  readonly type: string;
  readonly words: string;
  readonly actor: string;
  /** The event as it is in the log; null where it is not shown. */
  readonly data: unknown;
}

export interface HistoryRequest extends Pick<SelectionOptions, 'asOf' | 'position'> {
  readonly accountId: string;
  /** The events before this revision of the account's stream; undefined: the newest. */
  readonly before?: bigint;
  /** False: what identifies people is left out. */
  readonly showsPersonal: boolean;
}

export const EVENTS_SHOWN_MAX = 100;
const REWARDS_SHOWN_MAX = 200;
const POINTS_MAX = 400;

type HistoryCore = Pick<Core, 'log' | 'codec' | 'names'>;

/**
 * Folds an account up to a position or time, and lists its events in words. Reads the whole stream
 * up to there. @throws {UnreadableEvent}
 */
export async function accountHistory(
  core: HistoryCore,
  scope: Scope,
  { accountId, before, showsPersonal, ...options }: HistoryRequest,
  now = Date.now(),
): Promise<Outcome<AccountHistory>> {
  const selection = await select(core.log, options, now);
  if (selection instanceof NotDone) return selection;
  const found = await findAccount(core, scope, accountId);
  if (found instanceof NotDone) return found;
  const reading = new Reading(showsPersonal, before);
  for await (const page of pages(selectedEvents(core.log, found.stream, selection)))
    for (const decoded of await core.codec.decodeAll(page)) reading.add(decoded);
  return reading.result(accountId, clockOf(selection, reading.newest?.recorded, now));
}

/** One pass over the events of an account. */
class Reading {
  newest: Decoded | undefined;
  private state: AccountState = initialState;
  private readonly postings = new AccountPostings();
  private readonly sums = new RollForwardSums();
  private readonly points = new Map<string, { at: number; balance: number }[]>();
  /** The newest ones, with the names of that moment. */
  private events: ShownEvent[] = [];
  private count = 0;

  constructor(
    private readonly showsPersonal: boolean,
    private readonly before: bigint | undefined,
  ) {}

  add(decoded: Decoded): void {
    const event = decoded.event as AccountEvent;
    this.newest = decoded;
    this.count += 1;
    this.state = evolve(this.state, event);
    if (POSTED.has(event.type))
      this.post(this.postings.post(entryOf(decoded)), decoded.recorded.recordedAt);
    if (this.before !== undefined && decoded.recorded.revision >= this.before) return;
    this.events.push(this.shown(decoded, event));
    if (this.events.length > 2 * EVENTS_SHOWN_MAX)
      this.events = this.events.slice(-EVENTS_SHOWN_MAX);
  }

  result(account: string, clock: number): AccountHistory {
    this.post(this.postings.settle(clock), clock);
    const { state } = this;
    const open = state.status === 'open' ? state : undefined;
    const rewards = open === undefined ? [] : [...open.rewards.values()].reverse();
    return {
      account,
      position: this.newest === undefined ? null : firstPosition(this.newest.recorded),
      isOpen: open !== undefined,
      currency: open?.currency ?? null,
      subscription: open?.subscription?.status ?? null,
      referral: open === undefined ? null : this.referral(open),
      people: open === undefined ? [] : this.people(open),
      rewards: rewards.slice(0, REWARDS_SHOWN_MAX).map((reward) => ({
        rewardId: reward.rewardId,
        owner: this.known().nameOf(reward.person),
        value: valueInWords(reward.value),
        unit: unitOf(reward.value),
        redeemed: reward.redeemed,
        state: reward.dateCancelled === null ? reward.phase : 'CANCELLED',
        givenAt: iso(reward.dateGiven),
        expiresAt: isoOrNull(reward.dateExpires),
      })),
      rewardCount: rewards.length,
      units: this.sums.result().units.map((unit) => this.unit(unit)),
      events: this.events.slice(-EVENTS_SHOWN_MAX).reverse(),
      eventCount: this.count,
    };
  }

  private post(postings: ReturnType<AccountPostings['post']>, at: number): void {
    for (const posting of postings) {
      const spelled = this.postings.units.get(posting.unitKey) ?? posting.unitKey;
      this.sums.addPosting(posting, spelled, true);
      const effect = effectOnAvailable(posting);
      if (effect === 0) continue;
      const points = this.points.get(posting.unitKey) ?? [];
      points.push({ at, balance: (points.at(-1)?.balance ?? 0) + effect });
      this.points.set(posting.unitKey, points);
    }
  }

  private unit({ unit, issued, closing, scheduled, redeemed, expired, cancelled }: RollForward) {
    const points = this.points.get(unit.toLowerCase()) ?? [];
    const step = Math.ceil(points.length / POINTS_MAX);
    return {
      unit,
      assigned: issued + scheduled,
      available: closing,
      pending: scheduled,
      redeemed,
      expired,
      cancelled,
      points: points.filter((_, index) => index % step === 0 || index === points.length - 1),
    };
  }

  private people(open: OpenAccount): ShownPerson[] {
    return open.persons.toArray().flatMap((person) => {
      const user = open.users.get(person);
      if (user === undefined) return [];
      const profile = this.showsPersonal ? user.profile : null;
      return [
        {
          userId: profile?.id ?? null,
          name: this.known().nameOf(person),
          email: profile?.email ?? null,
          since: iso(user.dateCreated),
          blockedSince: isoOrNull(user.dateBlocked),
          codes: this.showsPersonal ? [...user.codes.values()].map(({ code }) => code) : [],
        },
      ];
    });
  }

  private referral({ referral, attribution }: OpenAccount): ShownReferral | null {
    if (referral === null) return null;
    const referrer = this.showsPersonal ? referral.referrer.ids.value : null;
    return {
      referralId: referral.referralId,
      referrerAccount: referrer?.accountId ?? null,
      referrerUser: referrer?.userId ?? null,
      code: this.showsPersonal ? (attribution?.code ?? null) : null,
      referredStatus: referral.referredStatus,
      referrerStatus: referral.referrerStatus,
      startedAt: iso(referral.dateStarted),
      paidAt: isoOrNull(referral.datePaid),
      endedAt: isoOrNull(referral.dateEnded),
    };
  }

  private shown({ envelope, recorded }: Decoded, event: AccountEvent): ShownEvent {
    return {
      eventId: recorded.id,
      position: firstPosition(recorded),
      revision: String(recorded.revision),
      recordedAt: iso(recorded.recordedAt),
      type: event.type,
      words: eventInWords(event, this.known()),
      actor: `${envelope.actor.kind}:${envelope.actor.id}`,
      data: this.showsPersonal ? event : null,
    };
  }

  private known(): Known {
    const open = this.state.status === 'open' ? this.state : undefined;
    const numberOf = (person: PersonId): number => (open?.persons.indexOf(person) ?? -1) + 1;
    const nameOf = (person: PersonId): string => {
      const profile = open?.users.get(person)?.profile;
      if (!this.showsPersonal || !profile) {
        const number = numberOf(person);
        return number === 0 ? 'a person of another account' : `person ${number}`;
      }
      const full = [profile.firstName, profile.lastName].filter(Boolean).join(' ');
      return full === '' ? profile.id : full;
    };
    const code = this.showsPersonal ? (open?.attribution?.code ?? null) : null;
    return { nameOf, code, showsPersonal: this.showsPersonal };
  }
}

const POSTED: ReadonlySet<string> = new Set(POSTED_TYPES);

const iso = (at: number): string => new Date(at).toISOString();
const isoOrNull = (at: number | null): string | null => (at === null ? null : iso(at));
