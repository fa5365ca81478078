import { modeOf } from '../../src/domain/scope.js';
import type { AccountCommandEnvelope, Commands } from '../../src/command-handling/commands.js';
import { decide } from '../domain/support/decisions.js';
import type { AccountEvent } from '../../src/domain/account/account.events.js';
import { evolve, type AccountState } from '../../src/domain/account/account.state.js';
import { personal } from '../../src/domain/personal.js';
import type { AccountRef, Scope } from '../../src/domain/scope.js';
import { WAITS_FOR } from '../../src/payments/outgoing/payment-work.js';
import { workStore } from '../../src/work-queue/work-items.js';
import { RewardPusher, type RewardPusherParts } from '../../src/payments/outgoing/reward-pusher.js';
import { ProviderFailure, type ProviderCalls } from '../../src/payments/payment-provider.js';
import { ACME, BOB, fold } from '../domain/support/account-scenario.js';
import { ErrorLines } from '../support/error-lines.js';
import { accountOpened, credit, rewardGranted, userIdentified } from '../support/account-events.js';
import { useDatabase } from '../support/database.js';
import { eventually } from '../support/embedded.js';
import { connectionOf, tenantsBut } from './support/parts.js';

const CREDIT = { ...credit(500), currency: 'EUR' } as const;
const ACCOUNT: readonly AccountEvent[] = [
  accountOpened(ACME),
  userIdentified(ACME, 'bob'),
  rewardGranted('r', BOB, CREDIT, { payTo: 'provider' }),
  { type: 'PaymentProviderIdSet', at: 1, paymentProviderId: personal(ACME.accountRef, 'cus_1') },
];

let states: Map<string, AccountState>;
let paid: string[];
let underWay: Map<string, number>;
let most: Map<string, number>;
let pusher: RewardPusher;
let hanging: (() => void)[];
let suspended: Set<string>;
let disconnected: Set<string>;
/** What happens while the first answer to a tenant is lost. */
let whenLost: Map<string, () => void>;
/** What took effect, by tenant and key. */
let effects: Set<string>;

const { pool } = useDatabase(4);
beforeEach(async () => {
  states = new Map();
  [paid, hanging] = [[], []];
  [underWay, most] = [new Map(), new Map()];
  [suspended, disconnected, whenLost] = [new Set(), new Set(), new Map()];
  effects = new Set();
  await pool.query('delete from ledger.work_items');
});
afterEach(async () => {
  for (const end of hanging.splice(0)) end();
  await pusher.worker.stop();
});

/** Accounts of a tenant that wait since an hour ago. */
const accountsOf = (tenant: string, accounts: number) =>
  pool.query(
    `insert into ledger.work_items (kind, id, tenant, lane, due_at, waiting_since, payload)
     select 'payment', $1 || ' live ' || $1 || n, $1, 'live', now() - interval '1 hour', now(),
       jsonb_build_object('account', $1 || n) from generate_series(1, $2::int) n`,
    [tenant, accounts],
  );

const unanswered = (): Promise<void> => new Promise((resolve) => hanging.push(resolve));

/** @param hangs tenants whose provider never answers. @param silence of one of their calls. */
function start(
  hangs: readonly string[] = [],
  silence: (tenant: string) => Promise<void> = unanswered,
): void {
  const place = ({ tenant, account }: Scope & { account: AccountRef }) => `${tenant}/${account}`;
  const stateAt = (at: string): AccountState => states.get(at) ?? fold(ACCOUNT);
  const commands: Commands = {
    execute: (command) => {
      const { command: request, account, meta } = command as unknown as AccountCommandEnvelope;
      const at = place({ ...meta.scope, account });
      const now = Date.now();
      const decision =
        request.type === 'StartRewardPush'
          ? decide(stateAt(at), { ...request, firstPaid: null, now })
          : request.type === 'RecordRewardPush'
            ? decide(stateAt(at), { ...request, now })
            : { events: [] };
      const events = 'events' in decision ? decision.events : [];
      states.set(at, events.reduce(evolve, stateAt(at)));
      return Promise.resolve({ kind: 'accepted', state: stateAt(at) } as never);
    },
  };
  const callsOf = (tenant: string): Pick<ProviderCalls, 'pay' | 'made'> => ({
    made: () => Promise.resolve(undefined),
    pay: async ({ key }) => {
      effects.add(`${tenant} ${key}`);
      const lost = whenLost.get(tenant);
      if (whenLost.delete(tenant)) {
        lost?.();
        throw new ProviderFailure('unavailable', 'no answer');
      }
      const now = (underWay.get(tenant) ?? 0) + 1;
      underWay.set(tenant, now);
      most.set(tenant, Math.max(now, most.get(tenant) ?? 0));
      if (hangs.includes(tenant)) await silence(tenant);
      underWay.set(tenant, (underWay.get(tenant) ?? 1) - 1);
      paid.push(tenant);
      return 'cbtxn';
    },
  });
  const parts: Partial<RewardPusherParts> = {
    work: workStore(pool),
    presence: { id: 1 },
    tenants: tenantsBut(() => suspended),
    connections: {
      current: ({ alias }, mode) =>
        Promise.resolve(
          disconnected.has(alias) ? undefined : connectionOf(alias, { mode: modeOf(mode) }),
        ),
    },
    provider: () =>
      Promise.resolve({ calls: ({ secretKey }) => callsOf(secretKey) as ProviderCalls }),
    commands,
    streams: {
      accounts: {
        load: (stream: string) => Promise.resolve({ state: stateAt(stream) } as never),
        forget: () => undefined,
      },
    },
    names: { accountStream: ({ tenant }, account) => `${tenant}/${account}` },
    logger: new ErrorLines(),
  };
  pusher = new RewardPusher(parts as RewardPusherParts);
  pusher.worker.loop.start();
}

const untilRow = (tenant: string, reason: string): Promise<void> =>
  eventually(async () => {
    const { rowCount } = await pool.query(
      'select from ledger.work_items where tenant = $1 and reason = $2 and claimed_by is null',
      [tenant, reason],
    );
    return rowCount === 1;
  });
const count = (tenant: string): number => paid.filter((one) => one === tenant).length;

test('ten thousand waiting accounts of one tenant let another one pay in the first turn', async () => {
  await accountsOf('many', 10_000);
  await accountsOf('one', 4);
  start();
  await eventually(() => count('one') === 4);
  // Two of a tenant concurrently: the other one was paid side by side with as many of the many.
  expect(count('many')).toBeLessThan(5_000);
  expect(most.get('many')).toBeLessThanOrEqual(2);
});

test('a provider that never answers holds two places, and every other tenant is paid', async () => {
  const others = 'a c d e f g h i j k l m n o p q r'.split(' ');
  await accountsOf('b', 50);
  for (const other of others) await accountsOf(other, 3);
  start(['b']);
  await eventually(() => others.every((other) => count(other) === 3));
  await eventually(() => underWay.get('b') === 2);
  expect([count('b'), most.get('b')]).toEqual([0, 2]);
});

test.each([
  ['suspended', () => suspended],
  ['disconnected', () => disconnected],
])(
  'a tenant that is %s between a call and its answer is called again when it is not, with the same key',
  async (_, of) => {
    // Its call took effect, and is to be repeated.
    whenLost.set('a', () => of().add('a'));
    await accountsOf('a', 1);
    start();
    await untilRow('a', WAITS_FOR.connection);
    await accountsOf('b', 1);
    await eventually(() => count('b') === 1);
    expect([count('a'), count('b')]).toEqual([0, 1]);
    await pusher.worker.stop();
    of().clear();
    start();
    await eventually(() => count('a') === 1);
    expect([...effects].filter((effect) => effect.startsWith('a '))).toEqual(['a reward:r']);
  },
);
