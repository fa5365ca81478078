import fc from 'fast-check';
import { accountProjectors } from '../../projections/account-projectors.js';
import { atTime, contribution, NOTHING, sum, type BalanceItem, type Figures } from '../../projections/reward-balances/contribution.js';
import type { AccountEvent, AccountEventOf } from '../../src/domain/account/account.events.js';
import type { SideStatus } from '../../src/domain/program.js';
import type { Checkpoint } from '../../src/projecting/checkpoints.js';
import { createGeneration, ensureLiveGenerations } from '../../src/projecting/generations.js';
import { schemaOf } from '../../src/projecting/identifiers.js';
import { decodePage } from '../../src/projecting/page.js';
import { ProjectionTrack } from '../../src/projecting/projection-track.js';
import {
  aboutReward,
  accountAttributed,
  accountOpened,
  anAccount,
  credit,
  creditRedeemed,
  discount,
  forgotten,
  partyOf,
  referralCodeAssigned,
  referralConverted,
  referralModerated,
  referralStarted,
  rewardCancelled,
  rewardGranted,
  subscriptionChanged,
  tankCode,
  type TestAccount,
  userIdentified,
  userProfileChanged,
} from '../support/account-events.js';
import { ProjectedLedger } from '../support/projected-ledger.js';

/**
 * The same history, applied in batches of any size, must leave the same rows as one event at a time: keys, folding, loading and
 * writing all take part.
 */

/** A step of a history: what kind of thing happens, and numbers that pick to whom. */
const step = fc.record({
  kind: fc.nat(15),
  account: fc.nat(3),
  user: fc.nat(2),
  pick: fc.nat(20),
  amount: fc.integer({ min: 1, max: 50 }),
});
type Step = typeof step extends fc.Arbitrary<infer S> ? S : never;

const STATUSES: readonly SideStatus[] = ['APPROVED', 'PENDING', 'DENIED'];

/** Makes events that could have happened out of any steps; steps that make no sense where they stand are left out. */
class History {
  private readonly accounts: readonly TestAccount[];
  private readonly opened = new Set<TestAccount>();
  private readonly identified = new Set<string>();
  private readonly referralOf = new Map<TestAccount, { id: string; referrer: ReturnType<typeof partyOf> }>();
  private readonly rewards: { account: TestAccount; granted: AccountEventOf<'RewardGranted'>; left: number; cancelled: boolean }[] = [];
  private time = 1_000;
  private count = 0;

  constructor(private readonly run: string) {
    this.accounts = [0, 1, 2, 3].map((number) => anAccount(`a${number}`, { tenant: run, mode: number === 3 ? 'test' : 'live' }));
  }

  next({ kind, account: accountNumber, user: userNumber, pick, amount }: Step): [TestAccount, AccountEvent] | undefined {
    const account = this.accounts[accountNumber] ?? this.accounts[0];
    if (!account) return undefined;
    const at = (this.time += pick);
    const id = `${this.run}-${(this.count += 1)}`;
    const userId = `user${userNumber}`;
    const party = partyOf(account, userId);
    if (!this.opened.has(account)) {
      this.opened.add(account);
      return [account, accountOpened(account, { at, ...(pick === 0 ? { accountId: forgotten(id) } : {}) })];
    }
    const person = party.person;
    if (!this.identified.has(person)) {
      this.identified.add(person);
      const event = userIdentified(account, userId, { firstName: `Ann${pick}` }, at);
      return [account, pick === 1 && event.type === 'UserIdentified' ? { ...event, profile: forgotten(person) } : event];
    }
    const reward = this.rewards[pick % Math.max(1, this.rewards.length)];
    const referral = this.referralOf.get(account);
    const statuses = { referredStatus: STATUSES[pick % 3] ?? 'DENIED', referrerStatus: STATUSES[amount % 3] ?? 'DENIED', at };
    switch (kind) {
      case 0:
        return [account, subscriptionChanged({ status: pick % 2 ? 'PAID' : 'TRIAL' }, at)];
      case 1:
        return [account, userProfileChanged(account, userId, { lastName: pick % 2 ? `Lee${pick}` : null, customFields: { pick } }, at)];
      case 2:
        return [
          account,
          referralCodeAssigned(account, userId, pick % 2 ? `Code${person.slice(0, 4)}${pick}` : `CODE${person.slice(0, 4)}${pick + 1}`, at),
        ];
      case 3:
        return [account, { type: pick % 2 ? 'UserBlocked' : 'UserUnblocked', at, person }];
      case 4:
        return [account, accountAttributed('CODE', party, at)];
      case 5: {
        const referrer = partyOf(this.accounts[(accountNumber + 1 + (pick % 2)) % 3] ?? account, `user${pick % 3}`);
        if (referral) return undefined;
        this.referralOf.set(account, { id, referrer });
        return [account, referralStarted(id, pick % 7 ? party : { ...party, ids: forgotten(person) }, referrer, statuses)];
      }
      case 6:
        return (
          referral && [
            account,
            referralConverted(referral.id, pick % 5 ? referral.referrer : { ...referral.referrer, ids: forgotten('x') }, statuses),
          ]
        );
      case 7:
        return referral && [account, referralModerated(referral.id, referral.referrer, statuses)];
      case 8:
        return referral && [account, { type: 'ReferralEnded', at, referralId: referral.id }];
      case 9:
        return [account, { type: 'PaymentProviderIdSet', at, paymentProviderId: { subject: 'x', value: pick ? `cus${pick}` : null } }];
      case 10:
      case 11: {
        const value =
          [credit(amount, pick % 2 ? 'CENTS' : 'cents'), discount(amount), tankCode(`T${pick}`), credit(amount, 'POINTS')][pick % 4] ??
          discount(1);
        const dateScheduledFor = pick % 3 === 0 ? at + 30 : null;
        const granted = rewardGranted(id, party, value, {
          ...{ at, dateScheduledFor, dateExpires: pick % 5 === 0 ? at + 100 : null },
          ...{ source: pick % 2 ? 'REFERRED' : 'FRIEND_SIGNUP', referralId: referral?.id ?? null },
          ...(pick === 13 ? { owner: forgotten(person) } : {}),
        });
        this.rewards.push({ account, granted, left: value.type === 'CREDIT' ? value.assignedCredit : 0, cancelled: false });
        return [account, granted];
      }
      case 12: {
        if (!reward || reward.left === 0 || reward.cancelled) return undefined;
        const redeemed = Math.min(reward.left, amount);
        reward.left -= redeemed;
        return [reward.account, creditRedeemed(reward.granted, id, redeemed, at)];
      }
      case 13:
        if (!reward) return undefined;
        reward.cancelled = true;
        return [reward.account, rewardCancelled(reward.granted, reward.left, at)];
      case 14:
        if (!reward) return undefined;
        reward.cancelled = false;
        return [reward.account, aboutReward('RewardRestored', reward.granted, reward.left, at)];
      default:
        return (
          reward && [reward.account, aboutReward(pick % 2 ? 'RewardExpired' : 'RewardBecameAvailable', reward.granted, reward.left, at)]
        );
    }
  }
}

describe('any history', () => {
  let projected: ProjectedLedger;
  /** Three builds of the same log: event by event, in batches of changing size, and as a whole. */
  let builds: readonly (readonly ProjectionTrack[])[];
  beforeAll(async () => {
    projected = await ProjectedLedger.open();
    await ensureLiveGenerations(projected.pool, accountProjectors);
    builds = [await newTracks(2), await newTracks(3), await newTracks(4)];
  });
  afterAll(() => projected.close());

  async function newTracks(generation: number): Promise<ProjectionTrack[]> {
    const client = await projected.pool.connect();
    for (const projector of accountProjectors) await createGeneration(client, projector, generation, 'building');
    client.release();
    const start: Checkpoint = { projection: '', generation, position: undefined, version: '0', lastError: null, updatedAt: 0 };
    const known = new Set(accountProjectors.flatMap((projector) => [...projector.handles]));
    const tracks = accountProjectors.map((projector) => new ProjectionTrack(projected.pool, projector, generation, projected.log, known));
    await Promise.all(tracks.map((track) => track.restoreFrom(start)));
    return tracks;
  }

  /** Applies what is in the log after `after`, in pages of these sizes, over and over. */
  async function build(tracks: readonly ProjectionTrack[], after: string | undefined, sizes: readonly number[]): Promise<void> {
    let at = after;
    for (let number = 0; ; number++) {
      const page = await decodePage(await projected.log.readAll(at, sizes[number % sizes.length] ?? 1), projected.ledger.decode);
      if (!page) return;
      await Promise.all(tracks.map((track) => track.apply(page)));
      at = page.last;
    }
  }

  /** What a build has of one tenant, every table and every row of it. */
  async function rowsOf(tracks: readonly ProjectionTrack[], tenant: string): Promise<Record<string, unknown[]>> {
    const tables = tracks.flatMap(({ projector, generation }) =>
      projector.tables.map((table) => ({ projection: projector.name, generation, table })),
    );
    const dumps = await Promise.all(
      tables.map(async ({ projection, generation, table }) => {
        const order = table.primaryKey.map((column) => `"${column}"`).join(', ');
        const { rows } = await projected.pool.query<{ row: unknown }>(
          `select to_jsonb(t) as row from ${schemaOf(projection, generation)}."${table.name}" t where tenant = $1 order by ${order}`,
          [tenant],
        );
        return [`${projection}/${table.name}`, rows.map(({ row }) => row)] as const;
      }),
    );
    return Object.fromEntries(dumps);
  }

  const parkedCount = async (tenant: string) =>
    (
      await projected.pool.query<{ n: number }>('select count(*)::integer as n from ledger.parked_events where stream like $1', [
        `account-${tenant}-%`,
      ])
    ).rows[0]?.n;

  test('leaves the same rows in batches of any size as one event at a time, and balances are the sum of their rewards', async () => {
    let run = 0;
    await fc.assert(
      fc.asyncProperty(
        fc.array(step, { minLength: 20, maxLength: 90 }),
        fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 5 }),
        async (steps, sizes) => {
          const start = await projected.log.head();
          // A tenant of its own for every history: nothing of another one can be in its rows.
          const tenant = `h${(run += 1)}`;
          const history = new History(tenant);
          for (const happens of steps) {
            const happened = history.next(happens);
            if (happened) await projected.ledger.happened(...happened);
          }
          const [single = [], batched = [], whole = []] = builds;
          await Promise.all([build(single, start, [1]), build(batched, start, sizes), build(whole, start, [1_000])]);
          const rows = await rowsOf(single, tenant);
          expect(await rowsOf(batched, tenant)).toEqual(rows);
          expect(await rowsOf(whole, tenant)).toEqual(rows);
          expect(balancesIn(rows)).toEqual(sumsOfItemsIn(rows));
          expect(countsIn(rows)).toBe((rows['referrals/referrals'] ?? []).length);
          expect(await parkedCount(tenant)).toBe(0);
        },
      ),
      { numRuns: 25 },
    );
  }, 120_000);

  test('has balances that move with the clock exactly as their rewards do', () => {
    const item = fc.record<BalanceItem>({
      type: fc.constantFrom('CREDIT', 'PCT_DISCOUNT', 'FUELTANK'),
      source: fc.constantFrom('REFERRED', 'FRIEND_SIGNUP', 'MANUAL'),
      phase: fc.constantFrom('PENDING', 'AVAILABLE', 'EXPIRED'),
      cancelled: fc.boolean(),
      assigned: fc.integer({ min: 10, max: 20 }),
      redeemed: fc.nat(10),
      percent: fc.nat(100),
      date_scheduled_for: fc.option(fc.nat(10)),
      date_expires: fc.option(fc.integer({ min: 10, max: 20 })),
      redeems_automatically: fc.boolean(),
    });
    fc.assert(
      fc.property(item, fc.nat(30), (reward, now) => {
        const figures = contribution(atTime(reward, now));
        expect(Object.values(figures).every((figure) => Number.isInteger(figure) && figure >= 0)).toBe(true);
        if (reward.type !== 'CREDIT') return;
        const { redeemed_credit, available_credit, pending_credit, expired_credit, cancelled_credit } = figures;
        // Nothing is made and nothing lost: whatever the clock says, it is all in some bucket.
        expect(redeemed_credit + available_credit + pending_credit + expired_credit + cancelled_credit).toBe(reward.assigned);
        if (reward.date_expires !== null && reward.date_expires <= now) expect(available_credit + pending_credit).toBe(0);
      }),
    );
  });
});

type Dump = Readonly<Record<string, unknown[]>>;
type Keyed = Figures & { account_ref: string; person: string; type: string; unit_key: string };
const keyOf = ({ account_ref, person, type, unit_key }: Keyed): string => [account_ref, person, type, unit_key].join(' ');
const figuresOf = (row: Figures): Figures =>
  Object.fromEntries(Object.keys(NOTHING).map((figure) => [figure, row[figure as keyof Figures]])) as unknown as Figures;

function balancesIn(rows: Dump): Record<string, Figures> {
  return Object.fromEntries((rows['reward-balances/reward_balances'] as Keyed[]).map((row) => [keyOf(row), figuresOf(row)]));
}

function sumsOfItemsIn(rows: Dump): Record<string, Figures> {
  const sums: Record<string, Figures> = {};
  for (const item of rows['reward-balances/balance_items'] as (Keyed & BalanceItem)[]) {
    sums[keyOf(item)] = sum(sums[keyOf(item)] ?? NOTHING, contribution(item));
  }
  return sums;
}

function countsIn(rows: Dump): number {
  const counts = rows['referrals/referral_counts'] as { counted_by: string; referrals: Record<string, number> }[];
  return counts
    .filter(({ counted_by }) => counted_by === 'all')
    .flatMap(({ referrals }) => Object.values(referrals))
    .reduce((total, number) => total + number, 0);
}
