import {
  rewardedSide,
  type AccountEvent,
  type AccountEventOf,
  type PersonId,
} from '../../domain/account/account.events.js';
import {
  evolve,
  initialState,
  unitKey,
  type AccountState,
  type ReferralState,
} from '../../domain/account/account.state.js';
import { referralOf } from '../../domain/account/referral/former-referrals.js';
import { availableCredit } from '../../domain/account/rewards/redemption.js';
import type { Decoded } from '../../event-log/codec.js';
import type { Position, RecordedEvent, StreamEnd } from '../../event-log/event-log.js';
import { LRUCache } from 'lru-cache';
import { bytesOf, HEAP_PER_STREAM } from '../../command-handling/stream-cache.js';
import { unitOfCredit } from './unit-of-credit.js';

/** A reward that was granted for a referral. */
export interface ReferralReward {
  readonly rewardId: string;
  readonly side: ReturnType<typeof rewardedSide>;
  readonly position: Position;
}

/** A referral as of an event, without names. */
export interface ReferralAt {
  readonly state: ReferralState;
  /** Of the event that started it: it has the names. */
  readonly startedAt: bigint;
  readonly dateModified: number;
  /** Of the last moderation; undefined: none. */
  readonly dateUserModified: number | undefined;
}

type ReferralEvent = AccountEventOf<
  | 'ReferralStarted'
  | 'ReferralConverted'
  | 'ReferralEnded'
  | 'ReferralFlagged'
  | 'ReferralModerated'
>;

interface Placed<E> {
  readonly revision: bigint;
  readonly event: E;
}

/** The revisions of an append's events. */
export interface AppendPlace {
  readonly first: bigint;
  readonly last: bigint;
}

/** What an account can spend of a unit, before and after an append. */
interface AvailableCredit {
  readonly before: number;
  readonly available: number;
}

export interface BalanceAt extends AvailableCredit {
  readonly unit: string;
}

/** Of events as they are stored: the newest ones of an account, and those that were needed. */
const STORED_BYTES = 128 * 1024;
const HEAP_PER_STORED_EVENT = 512;

/** The events of one append so far. */
interface OpenAppend {
  readonly commandId: string;
  /** What was available before it of the units that it changed. */
  readonly units: Map<string, number>;
  /** Its newest event that changed credit. */
  changedAt: bigint;
}

/**
 * What payloads need of an account's events, at any of their revisions, without personal values:
 * those are opened from the log each time. Grows with the account's stream; rests on the domain's
 * own fold.
 */
export class AccountHistory {
  #state: AccountState = initialState;
  #append: OpenAppend | undefined;
  #end: StreamEnd | undefined;
  #bytes = HEAP_PER_STREAM;
  /** Personal values in them are encrypted; they are opened each time, while their keys exist. */
  readonly #stored = new LRUCache<bigint, RecordedEvent>({
    maxSize: STORED_BYTES,
    sizeCalculation: (event) => HEAP_PER_STORED_EVENT + bytesOf([event]),
  });
  /** Events that say something about the account itself, and its deletions. */
  readonly #ofAccount: Placed<AccountEvent>[] = [];
  readonly #referrals = new Map<string, Placed<ReferralEvent>[]>();
  readonly #rewardsOfReferrals = new Map<string, ReferralReward[]>();
  /** The revision of each person's first reward: it has the client's ids. */
  readonly #firstRewards = new Map<PersonId, bigint>();
  /** The revision at which a person was first assigned a code, by person and digest. */
  readonly #firstCodes = new Map<string, bigint>();
  /** The revision of the first list that names a person, by redemption and person. */
  readonly #firstListed = new Map<string, bigint>();
  /** By the last revision of an append: what is available of the units that it changed. */
  readonly #available = new Map<bigint, ReadonlyMap<string, AvailableCredit>>();
  readonly #units = new Map<string, string>();

  /** The newest event; undefined: none. */
  get end(): StreamEnd | undefined {
    return this.#end;
  }

  /** Estimated memory. */
  get bytes(): number {
    return this.#bytes + this.#stored.calculatedSize;
  }

  /** Keeps events as they are stored, up to a bound: others are read from the log again. */
  store(events: readonly RecordedEvent[]): void {
    for (const event of events) this.#stored.set(event.revision, event);
  }

  /** Undefined: not kept. */
  storedAt(revision: bigint): RecordedEvent | undefined {
    return this.#stored.get(revision);
  }

  /** A code that the person was assigned. @param digest keyed: the code is not in it. */
  recordCode(person: PersonId, digest: string, revision: bigint): void {
    const key = `${person} ${digest}`;
    if (!this.#firstCodes.has(key)) this.#firstCodes.set(key, revision);
  }

  /** Folds the next event; its personal values are null. */
  record({ event: decoded, envelope, recorded }: Decoded): void {
    const event = decoded as AccountEvent;
    const { revision } = recorded;
    this.note(event, revision, recorded.position);
    const before = this.#state;
    this.#state = evolve(before, event);
    this.#bytes += bytesOf([recorded]);
    if (this.#append?.commandId !== envelope.commandId)
      this.#append = { commandId: envelope.commandId, units: new Map(), changedAt: -1n };
    const unit = unitOfCredit(event);
    if (unit === undefined) return;
    const now = Math.max(event.at, recorded.recordedAt);
    const { units } = this.#append;
    const key = unitKey(unit);
    if (!units.has(key))
      units.set(key, availableOf(before, key, isDue(event) ? event.at - 1 : now));
    this.noteAvailable(this.#append, revision, now);
  }

  /** Up to here all events are recorded that payloads need. */
  skipTo({ revision, id }: Pick<RecordedEvent, 'revision' | 'id'>, epoch: number): void {
    this.#end = { revision, eventId: id, epoch };
  }

  /** Whether the person is forgotten by now, also where the key still exists. */
  isForgotten(person: PersonId): boolean {
    return this.#state.remains.forgotten.has(person);
  }

  /** The opening of the account that was in force at this revision; undefined: none. */
  openingAt(revision: bigint): AccountEvent | undefined {
    return this.ofAccountBefore(revision + 1n).find(({ event }) => event.type === 'AccountOpened')
      ?.event;
  }

  /** Revisions before this one of events that say something about the account itself. */
  revisionsOfAccount(before: bigint): readonly bigint[] {
    return this.ofAccountBefore(before).map(({ revision }) => revision);
  }

  /** The referral right after the event of this revision; undefined: not started by then. */
  referralAt(referralId: string, at: bigint): ReferralAt | undefined {
    const events = (this.#referrals.get(referralId) ?? []).filter(({ revision }) => revision <= at);
    const start = events.findIndex(({ event }) => event.type === 'ReferralStarted');
    const started = events[start];
    const opening = started && this.openingAt(started.revision);
    const last = events.at(-1);
    if (!opening || !last) return undefined;
    const state = events.reduce<AccountState>(
      (before, { event }) => evolve(before, event),
      evolve(initialState, opening),
    );
    const referral = referralOf(state, referralId);
    const moderated = events.findLast(({ event }) => event.type === 'ReferralModerated');
    return (
      referral && {
        state: referral,
        startedAt: started.revision,
        dateModified: last.event.at,
        dateUserModified: moderated?.event.at,
      }
    );
  }

  /** In the order of their grants. */
  rewardsOf(referralId: string): readonly ReferralReward[] {
    return this.#rewardsOfReferrals.get(referralId) ?? [];
  }

  /** The revision of the person's first reward; undefined: none. */
  firstRewardOf(person: PersonId): bigint | undefined {
    return this.#firstRewards.get(person);
  }

  /** Whether the event of this revision is the first to assign the person this code. */
  isFirstCode(person: PersonId, digest: string, revision: bigint): boolean {
    return this.#firstCodes.get(`${person} ${digest}`) === revision;
  }

  /** Whether the list of a redemption that has this revision is the first to name the person. */
  isFirstListed(redemptionId: string, person: PersonId, revision: bigint): boolean {
    return this.#firstListed.get(`${redemptionId} ${person}`) === revision;
  }

  /** The unit in its first spelling, and its available amount before and after an append. */
  balanceAfter(unit: string, { first, last }: AppendPlace): BalanceAt {
    const key = unitKey(unit);
    const spelled = this.#units.get(key) ?? unit;
    for (let at = last; at >= first; at--) {
      const available = this.#available.get(at)?.get(key);
      if (available !== undefined) return { unit: spelled, ...available };
    }
    return { unit: spelled, before: 0, available: 0 };
  }

  private ofAccountBefore(before: bigint): readonly Placed<AccountEvent>[] {
    const events = this.#ofAccount.filter(({ revision }) => revision < before);
    return events.slice(events.findLastIndex(({ event }) => event.type === 'ErasureRequested') + 1);
  }

  private note(event: AccountEvent, revision: bigint, position: Position): void {
    switch (event.type) {
      case 'AccountOpened':
      case 'AccountAttributed':
      case 'PaymentProviderIdSet':
        this.#ofAccount.push({ revision, event });
        return;
      case 'ErasureRequested':
        if (event.account === null) return;
        this.#ofAccount.push({ revision, event });
        this.#units.clear();
        return;
      case 'ReferralStarted':
      case 'ReferralConverted':
      case 'ReferralEnded':
      case 'ReferralFlagged':
      case 'ReferralModerated':
        push(this.#referrals, event.referralId, { revision, event });
        return;
      case 'RewardGranted':
        this.noteGranted(event, revision, position);
        return;
      case 'ImportedRewardLinked':
        push(this.#rewardsOfReferrals, event.referralId, { ...event, position });
        return;
      case 'RedeemedRewardsListed':
        for (const person of event.persons) {
          const key = `${event.redemptionId} ${person}`;
          if (!this.#firstListed.has(key)) this.#firstListed.set(key, revision);
        }
        return;
      default:
    }
  }

  private noteGranted(
    event: AccountEventOf<'RewardGranted'>,
    revision: bigint,
    position: Position,
  ): void {
    const { rewardId, person, referralId, value } = event;
    const side = rewardedSide(event);
    if (!this.#firstRewards.has(person)) this.#firstRewards.set(person, revision);
    if (referralId !== null)
      push(this.#rewardsOfReferrals, referralId, { rewardId, side, position });
    if (value.type !== 'CREDIT') return;
    const key = unitKey(value.unit);
    if (!this.#units.has(key)) this.#units.set(key, value.unit);
  }

  /** Only the amounts at the end of an append are needed. */
  private noteAvailable(append: OpenAppend, revision: bigint, now: number): void {
    this.#available.delete(append.changedAt);
    this.#available.set(
      revision,
      new Map(
        [...append.units].map(([unit, before]) => [
          unit,
          { before, available: availableOf(this.#state, unit, now) },
        ]),
      ),
    );
    append.changedAt = revision;
  }
}

const availableOf = (state: AccountState, unit: string, now: number): number =>
  state.status === 'open' ? availableCredit(state, unit, now) : 0;

/** The clock had this effect before the event was recorded. */
const isDue = ({ type }: AccountEvent): boolean =>
  type === 'RewardBecameAvailable' || type === 'RewardExpired';

function push<V>(lists: Map<string, V[]>, key: string, value: V): void {
  const list = lists.get(key);
  if (list) list.push(value);
  else lists.set(key, [value]);
}
