import { isoOrNull, isoText } from '../../foundation/instant.js';
import type { AccountEvent, PersonId } from '../../domain/account/account.events.js';
import { unitOf, type AccountState, type OpenAccount } from '../../domain/account/account.state.js';
import { shownReward } from '../../domain/account/rewards/shown-state.js';
import { CENTS } from '../../domain/tenant/unit-settings.js';
import { unitKey } from '../../domain/units.js';
import type { Decoded } from '../../event-log/codec.js';
import { firstPosition } from '../../event-log/first-recorded.js';
import { actorInWords } from './actor-in-words.js';
import { eventInWords, kindOfEvent } from './event-in-words.js';
import { numberedPerson, valueInWords, type AmountText, type Known } from './words-of-rewards.js';

const REWARDS_SHOWN_MAX = 200;
const PEOPLE_SHOWN_MAX = 200;
const CODES_SHOWN_MAX = 5;

const SUBSCRIPTIONS = {
  TRIAL: 'Trial',
  PAID: 'Paid',
  FREE: 'Free',
  CANCELLED: 'Cancelled',
} as const;

/** How a reader sees an account. */
export interface Reader {
  /** False: what identifies people is left out. */
  readonly showsPersonal: boolean;
  readonly amountText: AmountText;
}

/** A state of an account as its reader may see it. */
export class ShownAccount {
  readonly open: OpenAccount | undefined;
  readonly known: Known;

  /** @param clock epoch milliseconds: dates up to here have passed. */
  constructor(
    state: AccountState,
    private readonly reader: Reader,
    private readonly clock: number,
  ) {
    this.open = state.status === 'open' ? state : undefined;
    this.known = knownOf(this.open, reader);
  }

  account() {
    const { open } = this;
    return {
      isOpen: open !== undefined,
      /** Of an open account, as people read it. */
      state: open === undefined ? null : SUBSCRIPTIONS[open.subscription?.status ?? 'TRIAL'],
      /** Of its amounts in CENTS: that of the credit, else of the account. */
      currency: open?.currencies.get(unitKey(CENTS)) ?? open?.currency ?? null,
      referral: open === undefined ? null : this.referral(open),
      people: open === undefined ? [] : this.people(open),
      rewards: open === undefined ? [] : this.rewards(open),
    };
  }

  event(decoded: Decoded) {
    const { recorded, event } = decoded;
    return {
      eventId: recorded.id,
      position: firstPosition(recorded),
      revision: String(recorded.revision),
      recordedAt: isoText(recorded.recordedAt),
      type: event.type,
      kind: kindOfEvent(event.type) ?? 'profile',
      words: eventInWords(event as AccountEvent, this.known),
      actor: actorInWords(decoded),
      /** The event as it is in the log; null where it is not shown. */
      data: this.reader.showsPersonal ? event : null,
    };
  }

  /** The newest ones. Amounts are of the unit. */
  private rewards(open: OpenAccount) {
    return presentRewards(open)
      .slice(-REWARDS_SHOWN_MAX)
      .reverse()
      .map((reward) => {
        const { value } = reward;
        const granted = value.type === 'CREDIT' ? value.assignedCredit : null;
        const redeemed = granted === null ? null : reward.redeemed;
        const shown = shownReward({ ...reward, granted, redeemed }, this.clock);
        return {
          rewardId: reward.rewardId,
          owner: this.known.nameOf(reward.person),
          type: value.type,
          value: valueInWords(value, this.known.amountText),
          /** Free text of the reward's author. */
          name: this.reader.showsPersonal ? reward.name : null,
          /** Null: a percentage. */
          granted: value.type === 'FUELTANK' ? value.amount : granted,
          percent: value.type === 'PCT_DISCOUNT' ? value.discountPercent : null,
          unit: unitOf(value),
          currency: value.type === 'CREDIT' ? value.currency : null,
          ...shown,
          source: reward.source,
          referralId: reward.referralId,
          isCancellable: reward.cancellable && ['Available', 'Pending'].includes(shown.state),
          givenAt: isoText(reward.dateGiven),
          expiresAt: isoOrNull(reward.dateExpires),
        };
      });
  }

  /** The newest ones, in the order of their joining. */
  private people(open: OpenAccount) {
    const { showsPersonal } = this.reader;
    const joined = open.persons.toArray().filter((person) => open.users.has(person));
    return joined.slice(-PEOPLE_SHOWN_MAX).flatMap((person) => {
      const user = open.users.get(person);
      if (user === undefined) return [];
      const profile = showsPersonal ? user.profile : null;
      const codes = showsPersonal ? [...user.codes.values()].map(({ code }) => code) : [];
      return [
        {
          person,
          /** Null where it is not shown, or forgotten; so is the address. */
          userId: profile?.id ?? null,
          name: this.known.nameOf(person),
          email: profile?.email ?? null,
          since: isoText(user.dateCreated),
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
    const { showsPersonal } = this.reader;
    const referrer = showsPersonal ? referral.referrer.ids.value : null;
    return {
      referralId: referral.referralId,
      referrerAccount: referrer?.accountId ?? null,
      code: showsPersonal ? (attribution?.code ?? null) : null,
      referredStatus: referral.referredStatus,
      referrerStatus: referral.referrerStatus,
      startedAt: isoText(referral.dateStarted),
      paidAt: isoOrNull(referral.datePaid),
      endedAt: isoOrNull(referral.dateEnded),
    };
  }
}

/** Those of people who are not forgotten. */
const presentRewards = ({ rewards, remains }: OpenAccount) =>
  [...rewards.values()].filter(({ person }) => !remains.forgotten.has(person));

function knownOf(open: OpenAccount | undefined, { showsPersonal, amountText }: Reader): Known {
  const numberOf = (person: PersonId): number => (open?.persons.indexOf(person) ?? -1) + 1;
  const nameOf = (person: PersonId): string => {
    const profile = open?.users.get(person)?.profile;
    if (!showsPersonal || !profile) return numberedPerson(numberOf(person));
    const full = [profile.firstName, profile.lastName].filter(Boolean).join(' ');
    return full === '' ? profile.id : full;
  };
  const code = showsPersonal ? (open?.attribution?.code ?? null) : null;
  return { nameOf, code, showsPersonal, amountText };
}
