import type {
  AccountEvent,
  AccountEventOf,
  PartyIds,
} from '../../domain/account/account.events.js';
import { rewardFacts, userFacts } from '../../domain/account/account.facts.js';
import { evolve, initialState, type AccountState } from '../../domain/account/account.state.js';
import {
  evolve as evolveExport,
  initialState as initialExport,
  type ExportEvent,
  type ExportState,
} from '../../domain/export/export.decider.js';
import type { SubjectId } from '../../domain/personal.js';
import type { Scope } from '../../domain/scope.js';
import type { ThemeEvent } from '../../domain/theme/theme.decider.js';
import type { EventCodec } from '../../event-log/codec.js';
import { effectiveTimeOf } from '../../event-log/envelope.js';
import type { EventLog } from '../../event-log/event-log.js';
import { eventAt, type EventPlace } from '../../event-log/event-pages.js';
import { shownExport } from '../../exports/shown-export.js';
import { ShareLinks } from '../../presenting/share-links.js';
import { accountRefOf, type KeyedNames } from '../../privacy/keyed-names.js';
import type { SubjectKeys } from '../../privacy/subject-keys.js';
import { AccountHistories, maskedCodec } from './account-histories.js';
import type { AccountHistory } from './account-history.js';
import { unitOfCredit, type Announced } from './announced.js';
import { EventReader, type RecordedAppend } from './event-reader.js';
import { PastTenants } from './past-tenants.js';
import {
  exportData,
  referralData,
  rewardCreatedData,
  themePublishFinishedData,
  userCreatedData,
  type WebhookData,
} from './presented.js';

export interface Announcement extends Scope, EventPlace {
  readonly announced: Announced;
}

export type PayloadData =
  | {
      readonly kind: 'made';
      readonly data: WebhookData;
      /** In test mode: the time of its event by the test clock, epoch milliseconds. */
      readonly created?: number;
      readonly people: readonly SubjectId[];
    }

  /** Its subject was forgotten. */
  | { readonly kind: 'forgotten' }
  /** There is nothing to announce (a repeated code, credit for later), or the event is lost. */
  | { readonly kind: 'nothing' };

export interface PayloadParts {
  readonly log: Pick<EventLog, 'readStream' | 'compare' | 'epoch'>;
  readonly codec: EventCodec;
  readonly keys: Pick<SubjectKeys, 'forget'>;
  readonly names: KeyedNames;
  /** The service's external address, for links. */
  readonly publicUrl: () => string;
}

/** An announcement with its event and the history of its account. */
interface AnnouncedEvent {
  readonly scope: Scope;
  readonly stream: string;
  readonly subject: Readonly<Record<string, string>>;
  readonly event: AccountEvent;
  readonly append: RecordedAppend;
  readonly history: AccountHistory;
}

/** Of events that keep the real clock, also in test mode. */
const OF_REAL_TIME: ReadonlySet<string> = new Set<Announcement['announced']['type']>([
  'export.created',
  'export.completed',
  'theme.publish.finished',
]);

const FORGOTTEN = { kind: 'forgotten' } as const;
const NOTHING = { kind: 'nothing' } as const;
const made = (data: WebhookData, ...people: readonly SubjectId[]): PayloadData => ({
  kind: 'made',
  data,
  people,
});

/**
 * Makes the `data` of announced events from the log: the state right after the append of the event,
 * without people who were forgotten later. Its caches hold no personal value.
 */
export class Payloads {
  private readonly histories: AccountHistories;
  private readonly opened: EventReader;
  private readonly tenants: PastTenants;

  constructor(private readonly parts: PayloadParts) {
    const { log, codec, keys, names } = parts;
    const masked = maskedCodec(keys);
    this.histories = new AccountHistories({ log, codec, masked, names });
    this.opened = new EventReader(log, codec);
    this.tenants = new PastTenants(log, masked, names);
  }

  /**
   * The same at every call, unless a person or code in it was forgotten.
   * @throws {EventLogUnavailable} {UnreadableEvent}, when keys cannot be read: call again.
   */
  async data(of: Announcement): Promise<PayloadData> {
    const payload = await this.made(of);
    if (payload.kind !== 'made' || of.mode === 'live') return payload;
    const recorded = await eventAt(this.parts.log, of);
    if (recorded === undefined) return NOTHING;
    if (!OF_REAL_TIME.has(of.announced.type))
      return { ...payload, created: effectiveTimeOf(recorded) };
    const { aheadMs } = await this.tenants.at(of.tenant, recorded.position);
    return { ...payload, created: recorded.recordedAt + aheadMs };
  }

  private async made({ tenant, mode, stream, ...of }: Announcement): Promise<PayloadData> {
    const { type, subject } = of.announced;
    if (type === 'export.created' || type === 'export.completed') return this.ofExport(stream, of);
    if (type === 'theme.publish.finished') return this.ofTheme(stream, of);
    const history = await this.histories.upToDate(stream);
    const append = await this.opened.append(stream, of.revision, {
      eventId: of.eventId,
      stored: history,
    });
    const [event] = append ? await this.opened.open([append.event]) : [];
    if (!append || !event) return NOTHING;
    const about: AnnouncedEvent = {
      scope: { tenant, mode },
      stream,
      subject,
      event,
      append,
      history,
    };
    switch (type) {
      case 'user.created':
        return event.type === 'UserIdentified' ? this.userCreated(about, event) : NOTHING;
      case 'coupon.created':
        return event.type === 'ReferralCodeAssigned' ? this.couponCreated(about, event) : NOTHING;
      case 'reward.created':
        return event.type === 'RewardGranted' ? this.rewardCreated(about, event) : NOTHING;
      case 'user.reward.balance.changed':
        return this.balanceChanged(about);
      case 'referral.started':
      case 'referral.converted':
      case 'referral.ended':
      case 'referral.automoderation.complete':
        return this.referral(about);
      case 'test':
        throw new Error(`${type} is not about an event`);
    }
  }

  /** The export right after the event. */
  private async ofExport(
    stream: string,
    { revision, eventId }: Pick<Announcement, 'revision' | 'eventId'>,
  ): Promise<PayloadData> {
    let state: ExportState = initialExport;
    let last: string | undefined;
    for await (const recorded of this.parts.log.readStream(stream)) {
      if (recorded.revision > revision) break;
      const [decoded] = await this.parts.codec.decodeAll([recorded]);
      if (decoded) state = evolveExport(state, decoded.event as ExportEvent);
      last = recorded.id;
    }
    if (state.status === 'absent' || last !== eventId) return NOTHING;
    return made(exportData(shownExport(state, undefined, -Infinity)));
  }

  private async ofTheme(
    stream: string,
    of: Pick<Announcement, 'revision' | 'eventId'>,
  ): Promise<PayloadData> {
    const { log, codec } = this.parts;
    const recorded = await eventAt(log, { stream, ...of });
    const [decoded] = await codec.decodeAll(recorded ? [recorded] : []);
    return decoded ? made(themePublishFinishedData((decoded.event as ThemeEvent).locale)) : NOTHING;
  }

  private async userCreated(
    about: AnnouncedEvent,
    { person, profile }: AccountEventOf<'UserIdentified'>,
  ): Promise<PayloadData> {
    const { scope, stream, event, append, history } = about;
    if (profile.value === null || history.isForgotten(person)) return FORGOTTEN;
    const earlier = await this.opened.all(stream, history.accountRevisions(append.first), history);
    const later = await this.opened.open(append.others);
    const state = await this.withoutForgotten(scope, folded([...earlier, event, ...later]));
    const facts =
      state.status === 'open' ? userFacts(state, accountRefOf(stream) ?? '', person) : undefined;
    if (!facts) return FORGOTTEN;
    const links = new ShareLinks(this.parts.publicUrl(), scope);
    const { defaultProgramId } = await this.tenants.at(scope.tenant, append.position);
    return made(
      userCreatedData(facts, { links, defaultProgramId }),
      person,
      ...namedReferrer(state),
    );
  }

  /** Removes the code of a forgotten referrer, even while the key exists. */
  private async withoutForgotten(scope: Scope, state: AccountState): Promise<AccountState> {
    if (state.status === 'absent' || !state.attribution || state.attribution.code === null)
      return state;
    const { referrer } = state.attribution;
    return (await this.isForgotten(scope, referrer))
      ? { ...state, attribution: { ...state.attribution, code: null } }
      : state;
  }

  private async isForgotten(
    scope: Scope,
    { account, person }: { readonly account: string; readonly person: string },
  ): Promise<boolean> {
    const history = await this.historyOf(scope, account);
    return history.isForgotten(person);
  }

  private historyOf(scope: Scope, account: string): Promise<AccountHistory> {
    return this.histories.upToDate(this.parts.names.accountStream(scope, account));
  }

  private couponCreated(
    { append, history }: AnnouncedEvent,
    { person, code, programId, at }: AccountEventOf<'ReferralCodeAssigned'>,
  ): PayloadData {
    if (code.value === null || history.isForgotten(person)) return FORGOTTEN;
    const digest = this.histories.digestOf(code.value);
    return history.isFirstCode(person, digest, append.first)
      ? made({ code: code.value, dateCreated: at, programId }, person)
      : NOTHING;
  }

  private async rewardCreated(
    { stream, append, history }: AnnouncedEvent,
    event: AccountEventOf<'RewardGranted'>,
  ): Promise<PayloadData> {
    const owner = ownerOf(event);
    const opening = history.openingAt(append.first);
    if (owner === null || history.isForgotten(event.person)) return FORGOTTEN;
    const redemptions = append.others.filter(
      ({ type, data }) => type === 'CreditRedeemed' && data.includes(event.rewardId),
    );
    const state = folded([
      ...(opening ? [opening] : []),
      event,
      ...(await this.opened.open(redemptions)),
    ]);
    const reward = state.status === 'open' ? state.rewards.get(event.rewardId) : undefined;
    if (state.status === 'absent' || !reward) return NOTHING;
    const facts = rewardFacts(state, accountRefOf(stream) ?? '', reward);
    return made(rewardCreatedData({ ...facts, ...owner }), event.person);
  }

  private async balanceChanged({
    stream,
    subject,
    event,
    append,
    history,
  }: AnnouncedEvent): Promise<PayloadData> {
    const { person } = subject;
    const unit = unitOfCredit(event);
    if (person === undefined || unit === undefined) return NOTHING;
    if (history.isForgotten(person)) return FORGOTTEN;
    if (
      event.type === 'RedeemedRewardsListed' &&
      !history.isFirstListed(event.redemptionId, person, append.first)
    )
      return NOTHING;
    const balance = history.balanceAfter(unit, append);
    // A list is announced even if its append changed nothing: an earlier one may have taken it.
    if (event.type !== 'RedeemedRewardsListed' && balance.available === balance.before)
      return NOTHING;
    const ids = await this.idsOf(person, stream, history);
    if (ids === null) return FORGOTTEN;
    const { userId, accountId } = ids;
    const { unit: spelled, available: availableValue } = balance;
    const resourceVersion = Number(append.last) + 1;
    return made({ userId, accountId, unit: spelled, availableValue, resourceVersion }, person);
  }

  private async idsOf(
    person: string,
    stream: string,
    history: AccountHistory,
  ): Promise<PartyIds | null> {
    const revision = history.firstRewardOf(person);
    const granted =
      revision === undefined ? undefined : await this.opened.at(stream, revision, history);
    return granted?.type === 'RewardGranted' ? ownerOf(granted) : null;
  }

  private async referral({
    scope,
    stream,
    subject,
    append,
    history,
  }: AnnouncedEvent): Promise<PayloadData> {
    const { referralId } = subject;
    const referral =
      referralId === undefined ? undefined : history.referralAt(referralId, append.last);
    // Flagged before the start: part of the announcement of the start.
    if (referralId === undefined || !referral) return NOTHING;
    const started = await this.opened.at(stream, referral.startedAt, history);
    if (started?.type !== 'ReferralStarted') return NOTHING;
    const ofReferrer = await this.historyOf(scope, started.referrer.account);
    const referred = history.isForgotten(started.referred.person)
      ? null
      : started.referred.ids.value;
    const referrer = ofReferrer.isForgotten(started.referrer.person)
      ? null
      : started.referrer.ids.value;
    if (!referred && !referrer) return FORGOTTEN;
    const rewardOf = (of: AccountHistory, side: 'referred' | 'referrer'): string | null =>
      of
        .rewardsOf(referralId)
        .findLast(
          (reward) =>
            reward.side === side && this.parts.log.compare(reward.position, append.position) <= 0,
        )?.rewardId ?? null;
    return made(
      referralData(referral, {
        referrer,
        referred,
        referralCodeUsed: referrer && started.code.value,
        shareLinkUsed: referrer && started.shareLinkUsed,
        referrerReward: referrer && rewardOf(ofReferrer, 'referrer'),
        referredReward: referred && rewardOf(history, 'referred'),
      }),
      ...(referrer ? [started.referrer.person] : []),
      ...(referred ? [started.referred.person] : []),
    );
  }
}

/** The referrer whose code the user is shown with. */
function namedReferrer(state: AccountState): readonly SubjectId[] {
  const attribution = state.status === 'open' ? state.attribution : null;
  return attribution && attribution.code !== null ? [attribution.referrer.person] : [];
}

const ownerOf = ({ owner }: AccountEventOf<'RewardGranted'>): PartyIds | null =>
  owner.value?.userId ? owner.value : null;

const folded = (events: readonly AccountEvent[]): AccountState =>
  events.reduce<AccountState>(evolve, initialState);
