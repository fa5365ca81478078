import { SeededRandom } from '../../test/harness/seeded-random.js';

/** What happens to the demo tenant, in the order of time. The same seed is the same story. */

export interface DemoPerson {
  readonly userId: string;
  readonly firstName: string;
  readonly lastName: string;
  readonly email: string;
  readonly code: string;
}

export interface DemoAccount {
  readonly accountId: string;
  readonly owner: DemoPerson;
  /** The code that its first user came with; null: none. */
  readonly code: string | null;
  /** What a person decides when its referral waits for a decision. */
  readonly verdict: 'APPROVED' | 'DENIED' | 'none';
}

export interface Gift {
  readonly unit: string;
  readonly amount: number;
  readonly name: string;
  readonly expiresInDays: number | null;
  readonly usableInDays: number | null;
  /** Cancelled again as soon as it was given. */
  readonly isMistake: boolean;
}

export type Deed =
  | { readonly kind: 'joins' | 'pays' | 'leaves' | 'is-blocked' | 'is-forgotten' }
  | { readonly kind: 'invites-colleague'; readonly colleague: DemoPerson }
  | { readonly kind: 'orders'; readonly total: number }
  | { readonly kind: 'spends'; readonly upTo: number }
  | { readonly kind: 'gets'; readonly gift: Gift };

/** A step is taken at a moment of the day. Those of one moment are of different accounts. */
export interface Step {
  /** Epoch milliseconds. */
  readonly at: number;
  readonly account: DemoAccount;
  readonly deed: Deed;
}

export interface StoryOptions {
  readonly seed: number;
  readonly accounts: number;
  readonly days: number;
  /** The first moment after the story, epoch milliseconds. */
  readonly until: number;
}

export interface Story {
  /** In the order of time. */
  readonly steps: readonly Step[];
  /** The accounts in the order of their joining. */
  readonly accounts: readonly DemoAccount[];
}

export const DAY_MS = 24 * 3_600_000;
/** Hours of a day (UTC) at which something happens. */
const HOURS = [8, 10, 12, 14, 16, 19];

const FIRST_NAMES =
  'Ada Amir Anna Ben Bruno Carla Chen Dana David Elif Emil Eva Felix Fatma Greta Hana Hugo Ines Ivan Jana Jonas Kofi Lara Leo Lin Maja Marek Mia Nora Omar Paul Petra Rosa Sam Sofia Theo Tuva Uma Viktor Yara'.split(
    ' ',
  );
const LAST_NAMES =
  'Adler Bauer Berg Blum Costa Diaz Dogan Eder Fink Frank Gruber Haas Hahn Ito Jansen Keller Klein Kohl Lang Lee Lindt Maier Moreau Nagel Novak Okafor Otto Park Peters Reis Rossi Sato Silva Stein Toth Vogel Weber Wolf Yilmaz Zimmer'.split(
    ' ',
  );

export function demoStory({ seed, accounts, days, until }: StoryOptions): Story {
  const random = new SeededRandom(seed);
  const first = Math.floor(until / DAY_MS) * DAY_MS - days * DAY_MS;
  const moments = Array.from({ length: days * HOURS.length }, (_, index) => {
    const [day, hour] = [Math.floor(index / HOURS.length), HOURS[index % HOURS.length] ?? 0];
    return first + day * DAY_MS + hour * 3_600_000;
  });
  return new Telling(random, moments).tell(accounts);
}

class Telling {
  private readonly steps: Step[] = [];
  private readonly taken = new Set<string>();
  private readonly people: { readonly account: DemoAccount; readonly joined: number }[] = [];

  constructor(
    private readonly random: SeededRandom,
    /** Every moment at which something may happen. */
    private readonly moments: readonly number[],
  ) {}

  tell(count: number): Story {
    // More join towards the end. The first one is there for the next one to join.
    const joinings = Array.from({ length: count }, (_, index) =>
      index === 0 ? 0 : Math.floor(this.random.next() ** 0.7 * this.moments.length),
    ).sort((a, b) => a - b);
    joinings.forEach((joined, index) => this.account(index + 1, joined));
    this.people.slice(4, 7).forEach(({ account, joined }) => {
      this.later(account, { after: joined, withinDays: 60, deed: { kind: 'is-blocked' } });
    });
    const forgotten = this.people[Math.floor(count / 8)];
    if (forgotten !== undefined)
      this.step(forgotten.account, this.moments.length - 1, { kind: 'is-forgotten' });
    this.steps.sort((a, b) => a.at - b.at);
    return { steps: this.steps, accounts: this.people.map(({ account }) => account) };
  }

  private account(number: number, joined: number): void {
    const { random } = this;
    const referrer = random.chance(0.45) ? this.referrer(joined) : undefined;
    // Some invite themselves: their referral waits for a decision.
    const isAlike = referrer !== undefined && random.chance(0.06);
    const owner = this.person(number, isAlike ? referrer.account.owner : undefined);
    const account: DemoAccount = {
      accountId: `account-${number}`,
      owner,
      code: referrer?.account.owner.code ?? null,
      verdict: random.pick(['APPROVED', 'APPROVED', 'DENIED', 'none', 'none'] as const),
    };
    this.people.push({ account, joined });
    this.step(account, joined, { kind: 'joins' });
    this.life(account, joined, referrer?.account);
  }

  /** What an account does once it has joined. */
  private life(account: DemoAccount, joined: number, referrer: DemoAccount | undefined): void {
    const { random } = this;
    const may = (chance: number, withinDays: number, deed: () => Deed): number | undefined =>
      random.chance(chance)
        ? this.later(account, { after: joined, withinDays, deed: deed() })
        : undefined;
    // The first one is the account that the demo points at.
    const paid = may(joined === 0 ? 1 : 0.6, 21, () => ({ kind: 'pays' }));
    may(0.15, 30, () => ({ kind: 'invites-colleague', colleague: this.colleague(account) }));
    may(0.3, 40, () => ({ kind: 'orders', total: random.integer(5, 90) * 100 }));
    may(0.2, 35, () => ({ kind: 'gets', gift: this.gift() }));
    may(0.1, 60, () => ({ kind: 'spends', upTo: random.integer(1, 6) * 100 }));
    if (paid === undefined) return;
    if (random.chance(0.1))
      this.later(account, { after: paid, withinDays: 40, deed: { kind: 'leaves' } });
    if (referrer !== undefined && random.chance(0.7)) {
      const spends: Deed = { kind: 'spends', upTo: random.integer(5, 20) * 100 };
      this.later(referrer, { after: paid, withinDays: 25, deed: spends });
    }
  }

  /** Who joined before; a few refer many. */
  private referrer(joined: number) {
    const earlier = this.people.filter((one) => one.joined < joined).length;
    if (earlier === 0) return undefined;
    const at = Math.floor(this.random.next() * this.random.next() * earlier);
    return this.people[at];
  }

  private person(number: number, alike: DemoPerson | undefined): DemoPerson {
    const firstName = alike?.firstName ?? this.random.pick(FIRST_NAMES);
    const lastName = alike?.lastName ?? this.random.pick(LAST_NAMES);
    return named(`user-${number}`, { firstName, lastName, number });
  }

  private colleague({ accountId }: DemoAccount): DemoPerson {
    const number = accountId.replace('account-', '');
    const firstName = this.random.pick(FIRST_NAMES);
    const lastName = this.random.pick(LAST_NAMES);
    return named(`user-${number}-2`, { firstName, lastName, number: `${number}B` });
  }

  private gift(): Gift {
    const { random } = this;
    const isPoints = random.chance(0.3);
    return {
      unit: isPoints ? 'POINTS' : 'CENTS',
      amount: isPoints ? random.integer(1, 10) * 25 : random.integer(1, 8) * 250,
      name: isPoints ? 'Survey' : random.pick(['Sorry for the wait', 'Anniversary', 'Bug report']),
      expiresInDays: random.chance(0.5) ? random.integer(20, 60) : null,
      usableInDays: random.chance(0.2) ? random.integer(2, 14) : null,
      isMistake: random.chance(0.2),
    };
  }

  /** @returns the index of the moment; undefined: it would be after the story. */
  private later(
    account: DemoAccount,
    what: { readonly after: number; readonly withinDays: number; readonly deed: Deed },
  ): number | undefined {
    const { after, withinDays, deed } = what;
    return this.step(account, after + this.random.integer(1, withinDays * HOURS.length), deed);
  }

  /** Each account does one thing at a moment: the next free one. */
  private step(account: DemoAccount, from: number, deed: Deed): number | undefined {
    for (let index = from; index < this.moments.length; index += 1) {
      const place = `${account.accountId} ${index}`;
      if (this.taken.has(place)) continue;
      this.taken.add(place);
      this.steps.push({ at: this.moments[index] ?? 0, account, deed });
      return index;
    }
    return undefined;
  }
}

function named(
  userId: string,
  who: { readonly firstName: string; readonly lastName: string; readonly number: number | string },
): DemoPerson {
  const { firstName, lastName, number } = who;
  const name = `${firstName}.${lastName}`.toLowerCase();
  const suffix = String(number);
  return {
    userId,
    firstName,
    lastName,
    email: `${name}.${suffix.toLowerCase()}@mail.example`,
    code: `${`${firstName}${lastName}`.slice(0, 15 - suffix.length)}${suffix}`.toUpperCase(),
  };
}
