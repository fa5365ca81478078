import { createHash } from 'node:crypto';
import { deterministicId } from '../../src/command-handling/deterministic-id.js';
import type { AccountEvent, Party, Profile } from '../../src/domain/account/account.events.js';
import { personal } from '../../src/domain/personal.js';
import type { ReservationEvent } from '../../src/domain/reservation/reservation.decider.js';
import type { Scope } from '../../src/domain/scope.js';
import { idWithin, type KeyedNames } from '../../src/privacy/keyed-names.js';

/**
 * A ledger of any size, made from a number of accounts: 1.2 users and ten events each. Tenant
 * `large` has 60 % of it, four others share the rest. In `large`, one account has a reward for
 * every ten accounts, and one has referred every tenth account. The same size makes the same
 * ledger.
 */

export const LARGE = 'large';
/** Of tenant `large`. */
export const MANY_REWARDS = 'many-rewards';
export const TOP_REFERRER = 'top-referrer';
export const UNIT = 'CENTS';
export const CREDIT = 1_000;
export const REWARDS_EACH = 2;
const YEAR_MS = 365 * 86_400_000;

export const TENANTS = [LARGE, 'small-6', 'small-7', 'small-8', 'small-9'] as const;

/** What a stream begins with. */
export interface FilledStream {
  readonly stream: string;
  readonly scope: Scope;
  readonly events: readonly (AccountEvent | ReservationEvent)[];
}

/** The accounts by their numbers, from 0. */
export class FilledAccounts {
  /** Of the first event; the last one is a little before now. */
  private readonly begunAt: number;

  constructor(
    private readonly names: KeyedNames,
    readonly size: number,
    now: number,
  ) {
    this.begunAt = now - YEAR_MS;
  }

  /** How many rewards, and how many referrals, the two special accounts have. */
  get many(): number {
    return Math.ceil(this.size / 10);
  }

  scopeOf(number: number): Scope {
    const place = number % 10;
    return { tenant: place < 6 ? LARGE : `small-${place}`, mode: 'live' };
  }

  accountId(number: number): string {
    return `account-${number}`;
  }

  userId(number: number, user = 0): string {
    return `user-${number}-${user}`;
  }

  code(number: number, user = 0): string {
    return `F${number}X${user}`;
  }

  rewardId(number: number, reward: number): string {
    return idWithin(this.refOf(number), `reward ${reward}`);
  }

  /** The referral of an account that was referred. */
  referralId(number: number): string {
    return idWithin(this.refOf(number), 'referral');
  }

  isReferred(number: number): boolean {
    return number % 10 < 2;
  }

  /** The account, and the codes of its users. */
  streamsOf(number: number): readonly FilledStream[] {
    const scope = this.scopeOf(number);
    const at = this.begunAt + Math.floor((number / this.size) * YEAR_MS);
    const ref = this.refOf(number);
    const own = { id: this.accountId(number), at };
    const users = number % 5 === 2 ? [0, 1] : [0];
    const events = [
      ...this.opened(scope, own),
      ...users.flatMap((user) => this.identified(number, user, at)),
      ...(this.isReferred(number) ? this.referred(number, at) : []),
      // The account before it was referred by this one.
      ...(number % 10 === 2 ? [this.announced(number - 1, this.partyOf(number), at)] : []),
      ...this.rewarded(number, at),
    ];
    const stream = this.names.accountStream(scope, ref);
    const codes = users.map((user) =>
      this.codeTaken(scope, ref, {
        party: this.partyOf(number, user),
        code: this.code(number, user),
      }),
    );
    return [{ stream, scope, events }, ...codes];
  }

  /** The account with many rewards, and the one with many referrals. */
  special(accountId: typeof MANY_REWARDS | typeof TOP_REFERRER): readonly FilledStream[] {
    const scope: Scope = { tenant: LARGE, mode: 'live' };
    const ref = this.names.accountRef(scope, accountId);
    const at = this.begunAt;
    const party = this.specialParty(accountId);
    const profile = profileOf(accountId, 'Top', at);
    const code = accountId === MANY_REWARDS ? 'MANY' : 'TOP';
    const events: AccountEvent[] = [
      ...this.opened(scope, { id: accountId, at }),
      {
        type: 'UserIdentified',
        at,
        person: party.person,
        profile: personal(party.person, profile),
      },
      codeAssigned(party, code, at),
    ];
    for (let each = 0; each < this.many; each++)
      events.push(
        accountId === MANY_REWARDS
          ? granted(party, idWithin(ref, `reward ${each}`), at)
          : this.announced(each * 10, party, at),
      );
    const stream = this.names.accountStream(scope, ref);
    return [{ stream, scope, events }, this.codeTaken(scope, ref, { party, code })];
  }

  private refOf(number: number): string {
    return this.names.accountRef(this.scopeOf(number), this.accountId(number));
  }

  private partyOf(number: number, user = 0): Party {
    const ids = { accountId: this.accountId(number), userId: this.userId(number, user) };
    const person = deterministicId('scale person', ids.userId);
    return { account: this.refOf(number), person, ids: personal(person, ids) };
  }

  private specialParty(accountId: string): Party {
    const scope: Scope = { tenant: LARGE, mode: 'live' };
    const person = deterministicId('scale person', accountId);
    const ids = { accountId, userId: accountId };
    return {
      account: this.names.accountRef(scope, accountId),
      person,
      ids: personal(person, ids),
    };
  }

  private opened(
    { tenant }: Scope,
    { id, at }: { readonly id: string; readonly at: number },
  ): readonly AccountEvent[] {
    const account = deterministicId('scale account', `${tenant}/${id}`);
    return [
      { type: 'AccountOpened', at, account, accountId: personal(account, id), currency: 'USD' },
      { type: 'SubscriptionChanged', at, subscription: { status: 'TRIAL' } },
    ];
  }

  private identified(number: number, user: number, at: number): readonly AccountEvent[] {
    const party = this.partyOf(number, user);
    const { person } = party;
    const profile = profileOf(this.userId(number, user), `Mara${number % 1_000}`, at);
    return [
      { type: 'UserIdentified', at, person, profile: personal(person, profile) },
      codeAssigned(party, this.code(number, user), at),
    ];
  }

  private referred(number: number, at: number): readonly AccountEvent[] {
    const byTop = number % 10 === 0;
    const referrer = byTop ? this.specialParty(TOP_REFERRER) : this.partyOf(number + 1);
    const code = personal(referrer.person, byTop ? 'TOP' : this.code(number + 1));
    return [
      { type: 'AccountAttributed', at, code, referrer, programId: 'default' },
      {
        type: 'ReferralStarted',
        at,
        referralId: this.referralId(number),
        programId: 'default',
        programVersion: 1,
        code,
        shareLinkUsed: null,
        referred: this.partyOf(number),
        referrer,
        referredStatus: 'APPROVED',
        referrerStatus: number % 100 === 0 ? 'PENDING' : 'APPROVED',
        fraudSignals: {},
        tooManyWith: [],
        referredReward: null,
        referrerReward: null,
      },
    ];
  }

  private announced(referred: number, { person }: Party, at: number): AccountEvent {
    const referralId = this.referralId(referred);
    return { type: 'ReferralAnnounced', at, referralId, account: this.refOf(referred), person };
  }

  /** Two rewards; one of them is used in part, and seven of ten users are seen once more. */
  private rewarded(number: number, at: number): readonly AccountEvent[] {
    const party = this.partyOf(number);
    const { person } = party;
    const ids = Array.from({ length: REWARDS_EACH }, (_, each) => this.rewardId(number, each));
    const grants = ids.map((id) => granted(party, id, at));
    const redemption: AccountEvent = {
      type: 'CreditRedeemed',
      at,
      rewardId: this.rewardId(number, 0),
      person,
      rewardType: 'CREDIT',
      unit: UNIT,
      redemptionId: deterministicId('scale redemption', number),
      amount: 1,
    };
    const changes = personal(person, { locale: 'en_US' });
    const seen: readonly AccountEvent[] =
      number % 10 < 7 ? [{ type: 'UserProfileChanged', at, person, changes }] : [];
    return [...grants, redemption, ...seen];
  }

  private codeTaken(
    scope: Scope,
    ref: string,
    { party: { person }, code }: { readonly party: Party; readonly code: string },
  ): FilledStream {
    const made: ReservationEvent = {
      type: 'ReservationMade',
      at: this.begunAt,
      kind: 'referral-code',
      key: personal(person, code),
      holder: { account: ref, person },
      programId: 'default',
      claim: null,
    };
    return { stream: this.names.codeStream(scope, code), scope, events: [made] };
  }
}

const codeAssigned = ({ person }: Party, code: string, at: number): AccountEvent => ({
  type: 'ReferralCodeAssigned',
  at,
  person,
  code: personal(person, code),
  programId: 'default',
});

function profileOf(id: string, firstName: string, at: number): Profile {
  const hash = createHash('sha256').update(id).digest('hex');
  return {
    id,
    email: `${id}@example.com`,
    firstName,
    lastName: hash.slice(0, 8),
    imageUrl: null,
    locale: 'en',
    countryCode: 'US',
    referable: true,
    customFields: { plan: 'gold', since: at },
    segments: [],
    cookieId: null,
    referralSource: null,
    firstSeenIP: null,
    lastSeenIP: null,
    firstSeenUserAgent: null,
    lastSeenUserAgent: null,
  };
}

function granted({ person, ids }: Party, rewardId: string, at: number): AccountEvent {
  return {
    type: 'RewardGranted',
    at,
    rewardId,
    person,
    owner: ids,
    source: 'MANUAL',
    value: { type: 'CREDIT', unit: UNIT, assignedCredit: CREDIT, currency: null },
    texts: { subject: person, value: null },
    cancellable: true,
    dateScheduledFor: null,
    dateExpires: null,
    referralId: null,
    programId: null,
    programVersion: null,
    rule: null,
    redeemsAutomatically: false,
  };
}
