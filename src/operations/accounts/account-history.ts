import { streamEndOf, type Folded } from '../../command-handling/stream-cache.js';
import type { Core } from '../../stores/core.js';
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
import type { EventLog, Position, RecordedEvent } from '../../event-log/event-log.js';
import { countsFrom } from '../../event-log/envelope.js';
import { pages } from '../../event-log/event-pages.js';
import { firstPosition } from '../../event-log/first-recorded.js';
import { LaterEntries } from '../ledger/later-entries.js';
import {
  actorShown,
  clockOf,
  findAccount,
  POSTED,
  selectedEvents,
} from '../ledger/ledger-entries.js';
import { select, type Selection, type SelectionOptions } from '../ledger/ledger-selection.js';
import { CreditFold, creditUpTo, type ShownUnit } from './account-credit.js';
import { eventInWords, valueInWords, type Known } from './event-in-words.js';

/** An account as an operator sees it, at a moment of its history. Times are ISO 8601. */
export interface AccountHistory extends ReturnType<ShownAccount['account']> {
  readonly account: string;
  /** Of the newest event included; null: none. */
  readonly position: Position | null;
  readonly units: readonly ShownUnit[];
  /** The newest first. */
  readonly events: readonly ReturnType<ShownAccount['event']>[];
  /** Of the whole selection. */
  readonly eventCount: number;
  /** Number of the entries that count after the moment: they are in no statement up to it. */
  readonly later: number;
}

export type ShownPerson = AccountHistory['people'][number];
export type ShownReward = AccountHistory['rewards'][number];

export interface HistoryRequest extends Pick<SelectionOptions, 'asOf' | 'position'> {
  readonly accountId: string;
  /** The events before this revision of the account's stream; undefined: the newest. */
  readonly before?: bigint;
  /** False: what identifies people is left out. */
  readonly showsPersonal: boolean;
}

export const EVENTS_SHOWN_MAX = 100;
const REWARDS_SHOWN_MAX = 200;
const PEOPLE_SHOWN_MAX = 200;
const CODES_SHOWN_MAX = 5;

type HistoryCore = Pick<Core, 'log' | 'codec' | 'names' | 'streams'>;

/**
 * An account and its events in words. Today it is what commands remember; credit, and an
 * earlier moment, are folded from the log. With older events, those before `before`, credit is left
 * out; of today only they are read. @throws {UnreadableEvent}
 */
export async function accountHistory(
  core: HistoryCore,
  scope: Scope,
  request: HistoryRequest,
  now = Date.now(),
): Promise<AccountHistory> {
  const { accountId, before, showsPersonal, ...options } = request;
  const selection = await select(core.log, options, now);
  const found = await findAccount(core, scope, accountId);
  const isToday = selection.upTo === undefined && selection.until === undefined;
  if (isToday) return historyOfToday(core, found.stream, request, now);
  const reading = new Reading(showsPersonal, before);
  const { limit, later } = await prefixOf(core.log, found.stream, selection, now);
  if (limit > 0)
    for await (const page of pages(core.log.readStream(found.stream, { limit })))
      for (const decoded of await core.codec.decodeAll(page)) reading.add(decoded);
  return { ...reading.result(accountId, clockOf(selection, reading.newest, now)), later };
}

/**
 * The events up to the last one that counts by the end of a selection. Positions order the log: an
 * earlier event with a later time is part of the state that the last one was decided on.
 */
async function prefixOf(
  log: EventLog,
  stream: string,
  { upTo, until = Infinity }: Selection,
  now: number,
): Promise<{ readonly limit: number; readonly later: number }> {
  const later = new LaterEntries(until, now);
  let limit = 0;
  for await (const event of selectedEvents(log, stream, { upTo, until: undefined })) {
    later.add(event, POSTED.has(event.type));
    if (countsFrom(event) <= until) limit = Number(event.revision) + 1;
  }
  return { limit, later: later.count };
}

async function historyOfToday(
  { log, codec, streams }: HistoryCore,
  stream: string,
  { accountId, before, showsPersonal }: HistoryRequest,
  now: number,
): Promise<AccountHistory> {
  const folded: Folded<AccountState> = await streams.accounts.load(stream);
  const end = streamEndOf(folded);
  const count = end === undefined ? 0n : end.revision + 1n;
  const upTo = before === undefined || before > count ? count : before;
  const from = upTo > BigInt(EVENTS_SHOWN_MAX) ? upTo - BigInt(EVENTS_SHOWN_MAX) : 0n;
  const recorded: RecordedEvent[] = [];
  if (upTo > from)
    for await (const event of log.readStream(stream, { from, limit: Number(upTo - from) }))
      recorded.push(event);
  const shown = new ShownAccount(folded.state, showsPersonal);
  const events = (await codec.decodeAll(recorded)).map((decoded) => shown.event(decoded));
  const newest = recorded.at(-1);
  return {
    account: accountId,
    position: newest === undefined ? null : firstPosition(newest),
    ...shown.account(),
    units:
      end === undefined || before !== undefined
        ? []
        : (await creditUpTo({ log, codec }, stream, end)).unitsAt(now),
    events: events.reverse(),
    eventCount: Number(count),
    later: 0,
  };
}

/** One pass over the events of an account up to an earlier moment. */
class Reading {
  newest: RecordedEvent | undefined;
  private state: AccountState = initialState;
  private readonly credit = new CreditFold();
  /** The newest ones, each with the state behind it, which has the names of that moment. */
  private events: { readonly decoded: Decoded; readonly state: AccountState }[] = [];
  private count = 0;

  constructor(
    private readonly showsPersonal: boolean,
    private readonly before: bigint | undefined,
  ) {}

  add(decoded: Decoded): void {
    this.newest = decoded.recorded;
    this.count += 1;
    this.state = evolve(this.state, decoded.event as AccountEvent);
    this.credit.add(decoded);
    if (this.before !== undefined && decoded.recorded.revision >= this.before) return;
    this.events.push({ decoded, state: this.state });
    if (this.events.length > 2 * EVENTS_SHOWN_MAX)
      this.events = this.events.slice(-EVENTS_SHOWN_MAX);
  }

  result(account: string, clock: number): Omit<AccountHistory, 'later'> {
    return {
      account,
      position: this.newest === undefined ? null : firstPosition(this.newest),
      ...new ShownAccount(this.state, this.showsPersonal).account(),
      units: this.before === undefined ? this.credit.unitsAt(clock) : [],
      events: this.events
        .slice(-EVENTS_SHOWN_MAX)
        .map(({ decoded, state }) => new ShownAccount(state, this.showsPersonal).event(decoded))
        .reverse(),
      eventCount: this.count,
    };
  }
}

/** A state of an account as its reader may see it. */
class ShownAccount {
  private readonly open: OpenAccount | undefined;
  private readonly known: Known;

  constructor(
    state: AccountState,
    private readonly showsPersonal: boolean,
  ) {
    this.open = state.status === 'open' ? state : undefined;
    this.known = knownOf(this.open, showsPersonal);
  }

  account() {
    const { open } = this;
    return {
      isOpen: open !== undefined,
      currency: open?.currency ?? null,
      subscription: open?.subscription?.status ?? null,
      referral: open === undefined ? null : this.referral(open),
      people: open === undefined ? [] : this.people(open),
      /** Number of all people; the newest are listed. */
      peopleCount: open?.users.size ?? 0,
      rewards: open === undefined ? [] : this.rewards(open),
      /** Number of all rewards; the newest are listed. */
      rewardCount: open?.rewards.size ?? 0,
    };
  }

  event(decoded: Decoded) {
    const { recorded, event } = decoded;
    return {
      eventId: recorded.id,
      position: firstPosition(recorded),
      revision: String(recorded.revision),
      recordedAt: iso(recorded.recordedAt),
      type: event.type,
      words: eventInWords(event as AccountEvent, this.known),
      actor: actorShown(decoded),
      /** The event as it is in the log; null where it is not shown. */
      data: this.showsPersonal ? event : null,
    };
  }

  /** The newest ones. */
  private rewards(open: OpenAccount) {
    return [...open.rewards.values()]
      .slice(-REWARDS_SHOWN_MAX)
      .reverse()
      .map((reward) => ({
        rewardId: reward.rewardId,
        owner: this.known.nameOf(reward.person),
        value: valueInWords(reward.value),
        unit: unitOf(reward.value),
        redeemed: reward.redeemed,
        state: reward.dateCancelled === null ? reward.phase : 'CANCELLED',
        givenAt: iso(reward.dateGiven),
        expiresAt: isoOrNull(reward.dateExpires),
      }));
  }

  /** The newest ones, in the order of their joining. */
  private people(open: OpenAccount) {
    const joined = open.persons.toArray().filter((person) => open.users.has(person));
    return joined.slice(-PEOPLE_SHOWN_MAX).flatMap((person) => {
      const user = open.users.get(person);
      if (user === undefined) return [];
      const profile = this.showsPersonal ? user.profile : null;
      const codes = this.showsPersonal ? [...user.codes.values()].map(({ code }) => code) : [];
      return [
        {
          /** Null where it is not shown, or forgotten; so is the address. */
          userId: profile?.id ?? null,
          name: this.known.nameOf(person),
          email: profile?.email ?? null,
          since: iso(user.dateCreated),
          blockedSince: isoOrNull(user.dateBlocked),
          /** The newest ones. */
          codes: codes.slice(-CODES_SHOWN_MAX),
          /** Number of those that are not listed. */
          codesLeft: Math.max(0, codes.length - CODES_SHOWN_MAX),
        },
      ];
    });
  }

  private referral({ referral, attribution }: OpenAccount) {
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
}

function knownOf(open: OpenAccount | undefined, showsPersonal: boolean): Known {
  const numberOf = (person: PersonId): number => (open?.persons.indexOf(person) ?? -1) + 1;
  const nameOf = (person: PersonId): string => {
    const profile = open?.users.get(person)?.profile;
    if (!showsPersonal || !profile) {
      const number = numberOf(person);
      return number === 0 ? 'a person of another account' : `person ${number}`;
    }
    const full = [profile.firstName, profile.lastName].filter(Boolean).join(' ');
    return full === '' ? profile.id : full;
  };
  const code = showsPersonal ? (open?.attribution?.code ?? null) : null;
  return { nameOf, code, showsPersonal };
}

const iso = (at: number): string => new Date(at).toISOString();
const isoOrNull = (at: number | null): string | null => (at === null ? null : iso(at));
