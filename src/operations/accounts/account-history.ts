import { streamEndOf, type Folded } from '../../command-handling/stream-cache.js';
import type { Core } from '../../stores/core.js';
import type { AccountEvent } from '../../domain/account/account.events.js';
import { evolve, initialState, type AccountState } from '../../domain/account/account.state.js';
import type { Scope } from '../../domain/scope.js';
import type { Decoded } from '../../event-log/codec.js';
import type { EventLog, Position, RecordedEvent } from '../../event-log/event-log.js';
import { effectiveTimeOf } from '../../event-log/envelope.js';
import { pages } from '../../event-log/event-pages.js';
import { firstPosition } from '../../event-log/first-recorded.js';
import { LaterEntries } from '../ledger/later-entries.js';
import {
  clockOf,
  findAccount,
  pagesBefore,
  POSTED,
  selectedEvents,
} from '../ledger/ledger-entries.js';
import { select, type Selection, type SelectionOptions } from '../ledger/ledger-selection.js';
import { CreditFold, creditUpTo, type ShownUnit } from './account-credit.js';
import { kindOfEvent, type EventKind } from './event-in-words.js';
import { ShownAccount, type Reader } from './shown-account.js';
import { WithheldTerms, type WhyNot } from './withheld-rewards.js';
import { plainAmount, type AmountText } from './words-of-rewards.js';

/** An account as an operator sees it, at a moment of its history. Times are ISO 8601. */
export interface AccountHistory extends ReturnType<ShownAccount['account']> {
  readonly account: string;
  /** Of the newest event included; null: none. */
  readonly position: Position | null;
  readonly units: readonly ShownUnit[];
  /** Why rewards were not granted, by recorded facts; the newest first. */
  readonly why: readonly WhyNot[];
  /** The newest first; without expiries of nothing. */
  readonly events: readonly ReturnType<ShownAccount['event']>[];
  /** Where older events of the timeline begin, for `before`; null: there are none. */
  readonly olderBefore: string | null;
  /** Of the whole selection, of every kind. */
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
  /** Events of this kind alone. */
  readonly kind?: EventKind;
  /** False: what identifies people is left out. */
  readonly showsPersonal: boolean;
  /** How amounts read in sentences; default: number and unit. */
  readonly amountText?: AmountText;
}

export const EVENTS_SHOWN_MAX = 100;

type HistoryCore = Pick<Core, 'log' | 'codec' | 'names' | 'streams'>;

interface Asked extends Reader, Pick<HistoryRequest, 'before' | 'kind'> {
  readonly accountId: string;
  readonly termsOf: WithheldTerms;
}

/**
 * An account and its events in words. Today it is what commands remember; credit, and an
 * earlier moment, are folded from the log. With older events, those before `before`, credit is left
 * out; of today only they are read. @throws {UnreadableEvent}
 */
export async function accountHistory(
  core: HistoryCore,
  scope: Scope,
  { amountText = plainAmount, ...request }: HistoryRequest,
  now = Date.now(),
): Promise<AccountHistory> {
  const selection = await select(core.log, request, now);
  const { stream } = await findAccount(core, scope, request.accountId);
  const asked = { ...request, amountText, termsOf: new WithheldTerms(core, scope.tenant) };
  const isToday = selection.upTo === undefined && selection.until === undefined;
  if (isToday) return historyOfToday(core, stream, asked, now);
  const reading = new Reading(asked);
  const { limit, later } = await prefixOf(core.log, stream, selection, now);
  if (limit > 0)
    for await (const page of pages(core.log.readStream(stream, { limit })))
      for (const decoded of await core.codec.decodeAll(page)) reading.add(decoded);
  return { ...(await reading.result(clockOf(selection, reading.newest, now))), later };
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
    if (effectiveTimeOf(event) <= until) limit = Number(event.revision) + 1;
  }
  return { limit, later: later.count };
}

async function historyOfToday(
  { log, codec, streams }: HistoryCore,
  stream: string,
  asked: Asked,
  now: number,
): Promise<AccountHistory> {
  const folded: Folded<AccountState> = await streams.accounts.load(stream);
  const end = streamEndOf(folded);
  const count = end === undefined ? 0n : end.revision + 1n;
  const { before, kind, accountId: account } = asked;
  const upTo = before === undefined || before > count ? count : before;
  const { newest, events, olderBefore } = await timeline({ log, codec }, stream, { upTo, kind });
  const shown = new ShownAccount(folded.state, asked, now);
  const credit =
    end === undefined || before !== undefined
      ? undefined
      : await creditUpTo({ log, codec }, stream, end);
  return {
    account,
    position: newest === undefined ? null : firstPosition(newest),
    ...shown.account(),
    units: credit?.unitsAt(now) ?? [],
    why: credit === undefined ? [] : await asked.termsOf.why(credit.withheld, shown),
    events: events.map((decoded) => shown.event(decoded)).reverse(),
    olderBefore,
    eventCount: Number(count),
    later: 0,
  };
}

/** Events that are read together while those of one kind are looked for. */
const SEARCHED_EVENTS = 1_000;

/** The newest events before a revision, the oldest first. */
async function timeline(
  { log, codec }: Pick<HistoryCore, 'log' | 'codec'>,
  stream: string,
  { upTo, kind }: { readonly upTo: bigint; readonly kind: EventKind | undefined },
) {
  const size = BigInt(kind === undefined ? EVENTS_SHOWN_MAX : SEARCHED_EVENTS);
  let newest: RecordedEvent | undefined;
  let found: readonly Decoded[] = [];
  let end = upTo;
  for await (const { page, from } of pagesBefore(log, stream, { before: upTo, size })) {
    newest ??= page.at(-1);
    const ofKind = await codec.decodeAll(page.filter(({ type }) => isOfKind(type, kind)));
    found = [...ofKind.filter(saysSomething), ...found];
    end = from;
    if (found.length >= EVENTS_SHOWN_MAX) break;
  }
  const events = found.slice(-EVENTS_SHOWN_MAX);
  const isCut = end > 0n || found.length > events.length;
  return {
    newest,
    events,
    olderBefore: isCut ? String(events[0]?.recorded.revision ?? end) : null,
  };
}

const isOfKind = (type: string, kind: EventKind | undefined): boolean =>
  kind === undefined || kindOfEvent(type) === kind;

/** False of the end of a reward that was spent before: no balance and no state changes. */
const saysSomething = ({ event }: Decoded): boolean =>
  event.type !== 'RewardExpired' || event.rewardType !== 'CREDIT' || event.amount > 0;

/** One pass over the events of an account up to an earlier moment. */
class Reading {
  newest: RecordedEvent | undefined;
  private state: AccountState = initialState;
  private readonly credit = new CreditFold();
  /** The newest ones, each with the state behind it, which has the names of that moment. */
  private events: { readonly decoded: Decoded; readonly state: AccountState }[] = [];
  private count = 0;
  private isCut = false;

  constructor(private readonly asked: Asked) {}

  add(decoded: Decoded): void {
    const { before, kind } = this.asked;
    const { recorded, event } = decoded;
    this.newest = recorded;
    this.count += 1;
    this.state = evolve(this.state, event as AccountEvent);
    this.credit.add(decoded);
    if (before !== undefined && recorded.revision >= before) return;
    if (!isOfKind(event.type, kind) || !saysSomething(decoded)) return;
    this.events.push({ decoded, state: this.state });
    if (this.events.length > 2 * EVENTS_SHOWN_MAX) {
      this.events = this.events.slice(-EVENTS_SHOWN_MAX);
      this.isCut = true;
    }
  }

  async result(clock: number): Promise<Omit<AccountHistory, 'later'>> {
    const { accountId: account, before, termsOf } = this.asked;
    const shown = new ShownAccount(this.state, this.asked, clock);
    const events = this.events.slice(-EVENTS_SHOWN_MAX);
    const isCut = this.isCut || this.events.length > events.length;
    return {
      account,
      position: this.newest === undefined ? null : firstPosition(this.newest),
      ...shown.account(),
      units: before === undefined ? this.credit.unitsAt(clock) : [],
      why: before === undefined ? await termsOf.why(this.credit.withheld, shown) : [],
      events: events
        .map(({ decoded, state }) => new ShownAccount(state, this.asked, clock).event(decoded))
        .reverse(),
      olderBefore: isCut ? String(events[0]?.decoded.recorded.revision ?? 0) : null,
      eventCount: this.count,
    };
  }
}
