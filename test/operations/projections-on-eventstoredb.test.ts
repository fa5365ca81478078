import {
  diffProjection,
  rebuildProjections,
  rollBackProjection,
  showStatus,
  swapProjections,
} from '../../src/operations/projections/projection-commands.js';
import {
  withProjections,
  type ProjectionOperator,
} from '../../src/operations/projections/projection-operator.js';
import type { Outcome } from '../../src/operations/outcome.js';
import { repairProjections } from '../../src/operations/projections/projection-repairs.js';
import type { Projector } from '../../src/projecting/projector.js';
import {
  freshNamespace,
  startEventStore,
  type EventStoreUnderTest,
} from '../support/event-store.js';
import { eventually } from '../support/embedded.js';
import { recordedOperations } from '../support/recorded-operations.js';
import { personal, startWithStores, type TestTenant } from '../support/running-service.js';
import { insisting } from '../support/operations.js';

/** Read models are made anew the same way, whichever store the log is in. */

const BALANCES = 'reward-balances';
let store: EventStoreUnderTest;
let running: Awaited<ReturnType<typeof startWithStores>>;
let tenant: TestTenant;
const [account, user] = [personal('acc'), personal('usr')];

beforeAll(async () => {
  store = await startEventStore();
  running = await startWithStores({
    EVENT_STORE_URL: store.url,
    EVENT_STORE_NAMESPACE: freshNamespace(),
  });
  await eventually(
    async () => (await fetch(`${running.service.origin}/health/ready`)).status === 200,
  );
  tenant = await running.service.createTenant();
  expect(
    (
      await tenant.live.post(`/open/account/${account}/user/${user}`, {
        id: user,
        accountId: account,
      })
    ).status,
  ).toBeLessThan(300);
  await give(100);
});
afterAll(async () => {
  await running.end();
  await store.stop();
});

async function give(assignedCredit: number): Promise<void> {
  const reward = { type: 'CREDIT', unit: 'CENTS', assignedCredit };
  expect(
    (await tenant.live.post(`/rewards/account/${account}/user/${user}`, reward)).status,
  ).toBeLessThan(300);
}

async function available(): Promise<unknown> {
  const { body } = await tenant.live.get<readonly { totalAvailableCredit: number }[]>(
    `/reward/balance?accountId=${account}`,
  );
  return body[0]?.totalAvailableCredit;
}

function operate<T>(
  work: (operator: ProjectionOperator, balances: readonly [Projector]) => Promise<Outcome<T>>,
): Promise<T> {
  const warn = (line: string): never => {
    throw new Error(line);
  };
  return insisting(withProjections<T>)(
    running.service.service.core,
    { actor: 'test', signal: new AbortController().signal, warn },
    (operator) => {
      const balances = operator.parts.projectors.find(({ name }) => name === BALANCES);
      if (!balances) throw new Error('there is no such projection');
      return work(operator, [balances]);
    },
  );
}

test('a wrong balance is found by rebuild and diff, corrected by the swap, back after the roll-back, and repaired in place', async () => {
  const { core } = running.service.service;
  expect(await available()).toBe(100);
  await core.pool.query(
    'update rm_reward_balances_1.reward_balances set available_credit = available_credit + 5',
  );
  const built = await operate((operator, balances) => rebuildProjections(operator, balances));
  expect(built).toMatchObject({
    projections: [{ generation: 2, liveGeneration: 1, differences: 1, parked: 0 }],
  });
  await give(7);
  expect(await available()).toBe(112);
  const diff = await operate((operator, [balances]) => diffProjection(operator, balances, 10));
  expect(diff).toMatchObject({
    count: 1,
    differences: [{ columns: [{ column: 'available_credit', live: 112, new: 107 }] }],
  });
  expect(core.log.compare(diff.position ?? undefined, await core.log.head())).toBe(0);

  expect(
    await operate((operator, balances) => swapProjections(operator, balances, false)),
  ).toMatchObject({
    projections: [{ generation: 2, previous: 1 }],
  });
  await give(1);
  expect(await available()).toBe(108);
  expect(
    await operate((operator, [balances]) => rollBackProjection(operator, balances)),
  ).toMatchObject({
    projections: [{ generation: 1, previous: 2 }],
  });
  await give(1);
  expect(await available()).toBe(114);

  const scope = { tenant: tenant.alias, mode: 'live' } as const;
  expect(
    await operate((operator, balances) =>
      repairProjections(operator, balances, { ...scope, account }),
    ),
  ).toMatchObject({
    projections: [{ generation: 1, changed: 1, added: 0, removed: 0 }],
  });
  expect(await available()).toBe(109);
  expect(await recordedOperations(core, scope)).toMatchObject([
    { operation: 'projection rebuild' },
  ]);
  const status = (await operate(showStatus)).find(({ name }) => name === BALANCES);
  expect(status).toMatchObject({ generation: 1, previous: 2, parked: 0, lastError: null });
});
