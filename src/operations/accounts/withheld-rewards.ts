import { ProgramVersions } from '../../command-handling/needs/program-versions.js';
import type { AccountEventOf } from '../../domain/account/account.events.js';
import type { OpenAccount } from '../../domain/account/account.state.js';
import { AMOUNT_MAX } from '../../domain/account/rewards/rewards.js';
import {
  REFERRED_RULE,
  REFERRER_RULE,
  type GrantTerms,
  type Program,
} from '../../domain/program.js';
import { toProgram } from '../../domain/tenant/program-document.js';
import { unitKey } from '../../domain/units.js';
import type { Core } from '../../stores/core.js';
import type { ShownAccount } from './shown-account.js';
import { asSentence, valueInWords, withheldBecause, type Known } from './words-of-rewards.js';

/** A reward that was due and not granted, by a recorded fact. */
export type Withheld = AccountEventOf<'RewardWithheld'>;

/** Why a reward was not granted, in one sentence. Times are ISO 8601. */
export interface WhyNot {
  readonly at: string;
  readonly referralId: string | null;
  readonly sentence: string;
}

/** The terms of rules, by versions of programs, and what was withheld under them. */
export class WithheldTerms {
  private readonly versions: ProgramVersions;

  constructor(
    { log, codec, names }: Pick<Core, 'log' | 'codec' | 'names'>,
    private readonly tenant: string,
  ) {
    this.versions = new ProgramVersions(log, codec, names);
  }

  /** Recorded facts in sentences, the newest first. */
  async why(withheld: readonly Withheld[], { known, open }: ShownAccount): Promise<WhyNot[]> {
    const programs = new Map<string, Program | undefined>();
    const found: WhyNot[] = [];
    for (const event of withheld) {
      const key = `${event.programVersion} ${event.programId}`;
      if (!programs.has(key)) programs.set(key, await this.programOf(event));
      found.push(whyWithheld(event, termsIn(programs.get(key), event.rule), known, open));
    }
    return [...found, ...whyOfReferral(open, known)].sort((a, b) => (a.at < b.at ? 1 : -1));
  }

  private async programOf({ programId, programVersion }: Withheld): Promise<Program | undefined> {
    if (programId === null || programVersion === null) return undefined;
    const version = await this.versions.find(this.tenant, programId, programVersion);
    return version && toProgram({ ...version, version: programVersion }, false);
  }
}

function termsIn(program: Program | undefined, rule: string | null): GrantTerms | undefined {
  if (program === undefined) return undefined;
  if (rule === REFERRED_RULE) return program.referredReward ?? undefined;
  if (rule === REFERRER_RULE) return program.referrerReward ?? undefined;
  return program.eventRewards.find((reward) => reward.rule === rule)?.terms;
}

/** The account's own reward for its referral, earned and kept back by moderation. */
function whyOfReferral(open: OpenAccount | undefined, known: Known): readonly WhyNot[] {
  const referral = open?.referral;
  if (!open || !referral || referral.referredEarned === null) return [];
  const { referralId, referredStatus, dateModerated, referred } = referral;
  const rewarded = open.rewardsByReferral.get(referralId)?.some((rewardId) => {
    return open.rewards.get(rewardId)?.source === 'REFERRED';
  });
  if (referredStatus === 'APPROVED' || rewarded === true) return [];
  const reward = rewardText(REFERRED_RULE, referral.referredEarned, known);
  const person = known.nameOf(referred.person);
  const sentence =
    referredStatus === 'DENIED'
      ? `${person} did not get ${reward}: moderation denied the referral.`
      : `${person} has not got ${reward} yet: the referral waits for moderation.`;
  return [
    { at: new Date(dateModerated).toISOString(), referralId, sentence: asSentence(sentence) },
  ];
}

/** The sentence of a recorded fact. @param terms of its rule; undefined: not known any more. */
export function whyWithheld(
  withheld: Withheld,
  terms: GrantTerms | undefined,
  known: Known,
  open: OpenAccount | undefined,
): WhyNot {
  const isOfAccount = open?.users.has(withheld.person) ?? false;
  const recipient = isOfAccount ? known.nameOf(withheld.person) : 'The referrer';
  const reward = rewardText(withheld.rule, terms, known);
  return {
    at: new Date(withheld.at).toISOString(),
    referralId: withheld.referralId,
    sentence: asSentence(
      `${recipient} did not get ${reward}: ${becauseOf(withheld, terms, known, open)}.`,
    ),
  };
}

/** `$10.00 for a referred friend`. */
function rewardText(rule: string | null, terms: GrantTerms | undefined, known: Known): string {
  return `${terms === undefined ? 'the reward' : promised(terms, known)} for ${earnedBy(rule)}`;
}

function earnedBy(rule: string | null): string {
  if (rule === REFERRED_RULE) return 'signing up';
  return rule === REFERRER_RULE ? 'a referred friend' : 'an event';
}

function promised({ value }: GrantTerms, { amountText }: Known): string {
  if (value.type === 'CREDIT') return valueInWords(value, amountText);
  return value.type === 'FUELTANK'
    ? `a code worth ${amountText(value.amount, value.unit)}`
    : `a ${valueInWords(value, amountText)}`;
}

function becauseOf(
  { reason }: Withheld,
  terms: GrantTerms | undefined,
  { amountText }: Known,
  open: OpenAccount | undefined,
): string {
  const value = terms?.value;
  if (reason === 'LIMIT_REACHED' && terms?.limit) {
    const { total, perDay } = terms.limit;
    const limits = [
      ...(total === null ? [] : [`${total.toLocaleString('en-US')} in total`]),
      ...(perDay === null ? [] : [`${perDay.toLocaleString('en-US')} a day`]),
    ];
    return `${withheldBecause(reason)} (${limits.join(', ')})`;
  }
  if (value?.type !== 'CREDIT') return withheldBecause(reason);
  if (reason === 'AMOUNT_TOO_LARGE')
    return `${withheldBecause(reason)} (at most ${amountText(AMOUNT_MAX, value.unit)})`;
  const currency = open?.currencies.get(unitKey(value.unit));
  if (reason === 'CURRENCY_DIFFERS' && currency !== undefined && value.currency !== null)
    return `the account's ${value.unit} are in ${currency}, the reward is in ${value.currency}`;
  return withheldBecause(reason);
}
