import type { AccountEvent } from '../../domain/account/account.events.js';
import {
  amountLeft,
  type AccountState,
  type UserState,
} from '../../domain/account/account.state.js';
import type { RewardState } from '../../domain/account/rewards/reward-state.js';
import type { PromisedValue } from '../../domain/program.js';
import type { OpenTenant } from '../../domain/tenant/tenant.decider.js';
import type { EventCodec } from '../../event-log/codec.js';
import type { EventLog } from '../../event-log/event-log.js';
import { eventAt } from '../../event-log/event-pages.js';
import { isMailAddress, sameAddress } from '../../foundation/mail-address.js';
import { timeNow } from '../../foundation/world.js';
import { nameForOthers } from '../../presenting/name-for-others.js';
import { ShareLinks } from '../../presenting/share-links.js';
import type { KeyedNames } from '../../privacy/keyed-names.js';
import type { TemplateValues } from '../../templates/render-template.js';
import { rewardInWords } from '../../themes/reward-in-words.js';
import { ledgerTime } from '../../tenants/tenant-directory.js';
import type { Themes } from '../../themes/themes.js';
import type { PlannedMail } from '../deliveries/mail-rows.js';
import { hostOf, senderOf, type Sender } from '../sender-address.js';
import type { TestAddresses } from '../settings/test-addresses.js';
import type { UnsubscribedAddresses } from '../unsubscribed-addresses.js';
import type { Unsubscribing } from '../unsubscribing.js';
import type { RenderedMail, renderMail } from './rendered-mail.js';

export interface AddressedMailsParts {
  readonly log: Pick<EventLog, 'readStream'>;
  readonly codec: Pick<EventCodec, 'decodeAll'>;
  readonly accounts: { load(stream: string): Promise<{ readonly state: AccountState }> };
  readonly names: Pick<KeyedNames, 'accountStream' | 'digest'>;
  readonly themes: Pick<Themes, 'themeFor'>;
  readonly testAddresses: Pick<TestAddresses, 'has'>;
  readonly unsubscribing: Pick<Unsubscribing, 'linkOf'>;
  readonly unsubscribed: Pick<UnsubscribedAddresses, 'has'>;
  readonly publicUrl: () => string;
  readonly mailFrom: () => string;
  readonly render: typeof renderMail;
}

/** A mail ready to be sent. */
export interface AddressedMail {
  readonly sender: Sender;
  readonly to: string;
  readonly messageId: string;
  readonly unsubscribeUrl: string;
  readonly rendered: RenderedMail;
  /** Keyed digest of address, mode and day; null: the mail does not count towards a limit. */
  readonly countedAs: string | null;
}

export type PreparedMail =
  | { readonly kind: 'made'; readonly mail: AddressedMail }
  /** The recipient must not get it, or it has become obsolete. */
  | { readonly kind: 'not-sent'; readonly reason: string };

/** The facts of a mail besides those of its recipient. */
interface MailFacts {
  readonly friend: UserState | undefined;
  readonly reward: PromisedValue | null;
}

const notSent = (reason: string): PreparedMail => ({ kind: 'not-sent', reason });

/** Makes mails from the log, for the people as they are now. Caches nothing. */
export class AddressedMails {
  constructor(private readonly parts: AddressedMailsParts) {}

  /** @throws {EventLogUnavailable} {UnreadableEvent}, when keys or themes cannot be read. */
  async make(tenant: OpenTenant, planned: PlannedMail): Promise<PreparedMail> {
    const { type, account, person } = planned;
    const since = tenant.mails.types[type];
    if (since === undefined) return notSent('the type is switched off');
    if (planned.created < since) return notSent('the type was switched off since');
    const event = await this.eventOf(planned);
    if (event === undefined) return notSent('the log no longer has the event');
    const state = await this.account(planned, account);
    const user = state.status === 'open' ? state.users.get(person) : undefined;
    const refusal = refusalOf(user);
    if (state.status === 'absent' || !user?.profile || refusal !== undefined)
      return notSent(refusal ?? 'the person is forgotten');
    const to = user.profile.email?.trim() ?? '';
    if (!isMailAddress(to)) return notSent('the person has no usable e-mail address');
    if (await this.parts.unsubscribed.has(planned, to))
      return notSent('the address has unsubscribed');
    const isListed = await this.parts.testAddresses.has(tenant, to);
    if (planned.mode !== 'live' && !isListed)
      return notSent('the address is not one that the test mode may send to');
    const now = ledgerTime(tenant, planned.mode);
    const factsOf = await this.factsOf(planned, event, { state, now });
    if (typeof factsOf === 'string') return notSent(factsOf);
    const facts = { user, to, isListed, about: { ...factsOf, currency: state.currency } };
    return { kind: 'made', mail: await this.mail(tenant, planned, facts) };
  }

  /** The same for every attempt and resend, whatever the theme contains. */
  messageIdOf({ event, person, type }: PlannedMail): string {
    const digest = this.parts.names.digest('mail', event.eventId, person, type);
    return `${digest.slice(0, 40)}@${hostOf(this.parts.publicUrl())}`;
  }

  private async mail(
    tenant: OpenTenant,
    planned: PlannedMail,
    {
      user,
      to,
      isListed,
      about,
    }: {
      readonly user: UserState;
      readonly to: string;
      readonly isListed: boolean;
      readonly about: MailFacts & { readonly currency: string };
    },
  ): Promise<AddressedMail> {
    const { type, mode } = planned;
    const asked = user.profile?.locale ?? null;
    const { theme, locale } = await this.parts.themes.themeFor(tenant.alias, mode, asked);
    const unsubscribeUrl = this.parts.unsubscribing.linkOf(planned);
    const units = { ...tenant.units, currency: about.currency };
    const reward = about.reward && rewardInWords(about.reward, locale, units);
    const values = {
      ...this.valuesOfUser(tenant, planned, user),
      'friend.name': nameOf(about.friend),
      'reward.text': reward,
    };
    return {
      sender: senderOf(theme.email.configuration, this.parts.mailFrom(), tenant.mails.domains),
      to,
      countedAs: isListed ? null : this.countedAs(planned, to),
      messageId: this.messageIdOf(planned),
      unsubscribeUrl,
      rendered: this.parts.render(theme, type, values, { locale, unsubscribeUrl }),
    };
  }

  private countedAs({ tenant, mode }: PlannedMail, to: string): string {
    const day = new Date(timeNow()).toISOString().slice(0, 10);
    return this.parts.names.digest('mails of a day', tenant, mode, sameAddress(to), day);
  }

  private valuesOfUser(
    { alias: tenant, defaultProgramId }: OpenTenant,
    { mode }: PlannedMail,
    user: UserState,
  ): TemplateValues {
    const code = user.primaryCodes.get(defaultProgramId) ?? user.primaryCodes.first() ?? null;
    const links = new ShareLinks(this.parts.publicUrl(), { tenant, mode });
    return {
      // The address may belong to another person than the one who signed up.
      'user.firstName': nameForOthers(user.profile?.firstName ?? ''),
      'user.lastName': nameForOthers(user.profile?.lastName ?? ''),
      code,
      shareLink: code === null ? null : links.link(code, 'EMAIL', 'EMAIL'),
    };
  }

  /** A text is the reason for sending nothing. */
  private async factsOf(
    planned: PlannedMail,
    event: AccountEvent,
    { state, now }: { readonly state: AccountState; readonly now: number },
  ): Promise<MailFacts | string> {
    const reward =
      state.status === 'open' && planned.about !== null
        ? state.rewards.get(planned.about)
        : undefined;
    switch (planned.type) {
      case 'REFERRAL_STARTED':
      case 'REFERRAL_CONVERTED':
        return { friend: await this.referred(planned), reward: promisedTo(event, 'referrer') };
      case 'WELCOME':
        return {
          friend: await this.referrer(planned, event),
          reward: promisedTo(event, 'referred'),
        };
      case 'REFERRER_REWARD_LIMIT_REACHED':
        return { friend: undefined, reward: null };
      case 'REWARD_EARNED':
        return reward === undefined || reward.dateCancelled !== null
          ? 'the reward is cancelled'
          : { friend: undefined, reward: reward.value };
      case 'REWARD_EXPIRES_SOON':
        return reward === undefined || !hasValueLeft(reward, now)
          ? 'nothing is left of the reward'
          : { friend: undefined, reward: reward.value };
    }
  }

  /** Undefined: forgotten. */
  private async referred(planned: PlannedMail): Promise<UserState | undefined> {
    const { state } = await this.parts.accounts.load(planned.event.stream);
    if (state.status === 'absent' || !state.referral) return undefined;
    return state.users.get(state.referral.referred.person);
  }

  private async referrer(
    planned: PlannedMail,
    event: AccountEvent,
  ): Promise<UserState | undefined> {
    if (event.type !== 'ReferralStarted') return undefined;
    const state = await this.account(planned, event.referrer.account);
    const user = state.status === 'open' ? state.users.get(event.referrer.person) : undefined;
    return user?.dateBlocked === null ? user : undefined;
  }

  private async account(scope: PlannedMail, account: string): Promise<AccountState> {
    const { names, accounts } = this.parts;
    return (await accounts.load(names.accountStream(scope, account))).state;
  }

  private async eventOf({ event }: PlannedMail): Promise<AccountEvent | undefined> {
    const { log, codec } = this.parts;
    const recorded = await eventAt(log, event);
    const [decoded] = await codec.decodeAll(recorded ? [recorded] : []);
    return decoded?.event as AccountEvent | undefined;
  }
}

function refusalOf(user: UserState | undefined): string | undefined {
  if (!user?.profile) return 'the person is forgotten';
  if (user.dateBlocked !== null) return 'the person is blocked';
  return user.wantsNoMails === true ? 'the person has unsubscribed' : undefined;
}

/** `Bob R`: other people do not see a friend's whole name. */
function nameOf(friend: UserState | undefined): string {
  const { firstName, lastName } = friend?.profile ?? { firstName: null, lastName: null };
  const [initial = ''] = nameForOthers(lastName ?? '');
  return `${nameForOthers(firstName ?? '')} ${initial}`.trim();
}

/** The reward that an event of a referral promises a side. */
function promisedTo(event: AccountEvent, side: 'referrer' | 'referred'): PromisedValue | null {
  if (event.type !== 'ReferralStarted' && event.type !== 'ReferralConverted') return null;
  return (side === 'referrer' ? event.referrerReward : event.referredReward)?.value ?? null;
}

function hasValueLeft(reward: RewardState, now: number): boolean {
  if (reward.dateCancelled !== null || reward.phase === 'EXPIRED') return false;
  if (reward.dateExpires !== null && reward.dateExpires <= now) return false;
  return reward.value.type !== 'CREDIT' || amountLeft(reward) > 0;
}
