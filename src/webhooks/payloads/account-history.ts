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
import { unitOfCredit } from './announced.js';

export interface ReferralReward {
  readonly rewardId: string;
  readonly side: ReturnType<typeof rewardedSide>;
  readonly position: Position;
}

/** A referral at an event, without names. */
export interface ReferralAt {
  readonly state: ReferralState;
  /** Revision of the event that started it and has its names. */
  readonly startedAt: bigint;
  readonly dateModified: number;
  /** Time of the last moderation. */
  readonly dateUserModified: number | undefined;
}

type ReferralEvent = AccountEventOf<
  | 'ReferralStarted'
  | 'ReferralConverted'
  | 'ReferralEnded'
  | 'ReferralFlagged'
  | 'ReferralModerated'
>;

interface AtRevision<E> {
  readonly revision: bigint;
  readonly event: E;
}

/** The first and last revision of an append. */
export interface AppendPlace {
  readonly first: bigint;
  readonly last: bigint;
}

/** Available credit of a unit before and after an append. */
interface AvailableCredit {
  readonly before: number;
  readonly available: number;
}

export interface BalanceAt extends AvailableCredit {
  readonly unit: string;
}

/** Bound of the kept stored events. */
const STORED_BYTES = 128 * 1024;
const HEAP_PER_STORED_EVENT = 512;

/** The append that is being folded. */
interface OpenAppend {
  readonly commandId: string;
  /** Available amount before it, by changed unit. */
  readonly units: Map<string, number>;
  /** Revision of its newest event that changed credit. */
  changedAt: bigint;
}

/**
 * What payloads need of an account at any of its revisions, folded as the domain does, without
 * personal values: these are decrypted from the stored events each time. Grows with the stream.
 */
export class AccountHistory {
  #state: AccountState = initialState;
  #append: OpenAppend | undefined;
  #end: StreamEnd | undefined;
  #bytes = HEAP_PER_STREAM;
  /** With encrypted personal values. */
  readonly #stored = new LRUCache<bigint, RecordedEvent>({
    maxSize: STORED_BYTES,
    sizeCalculation: (event) => HEAP_PER_STORED_EVENT + bytesOf([event]),
  });
  /** Events about the account itself, and its erasures. */
  readonly #ofAccount: AtRevision<AccountEvent>[] = [];
  readonly #referrals = new Map<string, AtRevision<ReferralEvent>[]>();
  readonly #rewardsOfReferrals = new Map<string, ReferralReward[]>();
  /** The revision of each person's first reward, which has the client's ids. */
  readonly #firstRewards = new Map<PersonId, bigint>();
  /** The revision that first assigned a code to a person, by person and digest. */
  readonly #firstCodes = new Map<string, bigint>();
  /** The first list that names a person, by redemption and person. */
  readonly #firstListed = new Map<string, bigint>();
  /** Available amounts of the units that an append changed, by its last revision. */
  readonly #available = new Map<bigint, ReadonlyMap<string, AvailableCredit>>();
  readonly #units = new Map<string, string>();

  /** The newest event. */
  get end(): StreamEnd | undefined {
    return this.#end;
  }

  /** Estimated memory. */
  get bytes(): number {
    return this.#bytes + this.#stored.calculatedSize;
  }

  /** Keeps stored events up to a bound; others are read from the log again. */
  store(events: readonly RecordedEvent[]): void {
    for (const event of events) this.#stored.set(event.revision, event);
  }

  /** Undefined: not kept. */
  storedAt(revision: bigint): RecordedEvent | undefined {
    return this.#stored.get(revision);
  }

  /** Records a code of a person by its keyed digest. */
  recordCode(person: PersonId, digest: string, revision: bigint): void {
    const key = `${person} ${digest}`;
    if (!this.#firstCodes.has(key)) this.#firstCodes.set(key, revision);
  }

  /** Folds the next event; its personal values are null. */
  record({ event: decoded, envelope, recorded }: Decoded): void {
    const event = decoded as AccountEvent;
    const { revision } = recorded;
    this.index(event, revision, recorded.position);
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
      units.set(key, availableOf(before, key, changedByClock(event) ? event.at - 1 : now));
    this.recordAvailable(this.#append, revision, now);
  }

  /** Marks the end: all events up to it that payloads need are recorded. */
  setEnd({ revision, id }: Pick<RecordedEvent, 'revision' | 'id'>, epoch: number): void {
    this.#end = { revision, eventId: id, epoch };
  }

  /** True from the erasure request on, even while the key exists. */
  isForgotten(person: PersonId): boolean {
    return this.#state.remains.forgotten.has(person);
  }

  /** The opening in force at this revision. */
  openingAt(revision: bigint): AccountEvent | undefined {
    return this.accountEventsBefore(revision + 1n).find(
      ({ event }) => event.type === 'AccountOpened',
    )?.event;
  }

  /** Earlier revisions of events about the account itself. */
  accountRevisions(before: bigint): readonly bigint[] {
    return this.accountEventsBefore(before).map(({ revision }) => revision);
  }

  /** The referral right after this revision; undefined: not started by then. */
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

  firstRewardOf(person: PersonId): bigint | undefined {
    return this.#firstRewards.get(person);
  }

  /** Whether this revision is the first to assign the code to the person. */
  isFirstCode(person: PersonId, digest: string, revision: bigint): boolean {
    return this.#firstCodes.get(`${person} ${digest}`) === revision;
  }

  /** Whether the list at this revision is the redemption's first to name the person. */
  isFirstListed(redemptionId: string, person: PersonId, revision: bigint): boolean {
    return this.#firstListed.get(`${redemptionId} ${person}`) === revision;
  }

  /** The unit in its first spelling, with its available amount before and after an append. */
  balanceAfter(unit: string, { first, last }: AppendPlace): BalanceAt {
    const key = unitKey(unit);
    const spelled = this.#units.get(key) ?? unit;
    for (let at = last; at >= first; at--) {
      const available = this.#available.get(at)?.get(key);
      if (available !== undefined) return { unit: spelled, ...available };
    }
    return { unit: spelled, before: 0, available: 0 };
  }

  private accountEventsBefore(before: bigint): readonly AtRevision<AccountEvent>[] {
    const events = this.#ofAccount.filter(({ revision }) => revision < before);
    return events.slice(events.findLastIndex(({ event }) => event.type === 'ErasureRequested') + 1);
  }

  private index(event: AccountEvent, revision: bigint, position: Position): void {
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
        this.indexReward(event, revision, position);
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

  private indexReward(
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

  /** Only the amounts after the last event of an append are kept. */
  private recordAvailable(append: OpenAppend, revision: bigint, now: number): void {
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

/** The amount changed with the clock, before the event was recorded. */
const changedByClock = ({ type }: AccountEvent): boolean =>
  type === 'RewardBecameAvailable' || type === 'RewardExpired';

function push<V>(lists: Map<string, V[]>, key: string, value: V): void {
  const list = lists.get(key);
  if (list) list.push(value);
  else lists.set(key, [value]);
}
