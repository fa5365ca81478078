import { ErrorLines } from '../support/error-lines.js';
import type pg from 'pg';
import { deterministicId } from '../../src/command-handling/deterministic-id.js';
import type { DomainEvent } from '../../src/domain/events.js';
import { POLICIES } from '../../src/policies/policies.js';
import { PolicyRunner } from '../../src/policies/policy-runner.js';
import { postgresPolicyStores, type PolicyStores } from '../../src/policies/policy-stores.js';
import type { CarryOut, Reaction } from '../../src/policies/policy.js';
import { carryOutReactions } from '../../src/policies/reactions.js';
import { openPool } from '../../src/postgres/database.js';
import { decodeAny } from '../../src/projecting/decode-events.js';
import type { LedgerEvent } from '../../src/projecting/projector.js';
import { aRequest, refOf, SharedLedger, type TestProcess } from './support/processes.js';

/** The policies as they run, with the jobs that they add instead of a queue. */

let ledger: SharedLedger;
let one: TestProcess;
let other: TestProcess;
let pool: pg.Pool;

beforeAll(async () => {
  ledger = await SharedLedger.onPostgres();
  one = await ledger.process();
  other = await ledger.process();
  pool = openPool({ url: ledger.url, max: 8, applicationName: 'policies' });
});
afterAll(async () => {
  await pool.end();
  await ledger.close();
});

const { scope } = aRequest();
const GRANT = 'grant-referrer-reward-when-earned';

interface CarriedOut {
  readonly event: LedgerEvent<DomainEvent>;
  readonly policy: string;
  readonly reaction: Reaction;
}

const runnerOf = (process: TestProcess, stores: PolicyStores, carryOut: CarryOut): PolicyRunner =>
  new PolicyRunner({
    stores,
    log: process.log,
    decode: decodeAny(process.codec),
    policies: POLICIES,
    isUnavailable: () => false,
    leaseEveryMs: 20,
    // Whoever waits ends it.
    restMs: 3_600_000,
    logger: new ErrorLines(),
    carryOut,
  });

/**
 * The process's policies react from their checkpoint to the end of the log, their own events
 * included. @returns the reactions that were carried out, in order.
 */
async function react(
  process: TestProcess = one,
  stores: PolicyStores = postgresPolicyStores(pool),
): Promise<readonly CarriedOut[]> {
  const done: CarriedOut[] = [];
  const carryOut = carryOutReactions(
    process.commands,
    { add: () => Promise.resolve() },
    process.streams,
  );
  const runner = runnerOf(process, stores, async (event, policy, reaction) => {
    await carryOut(event, policy, reaction);
    done.push({ event, policy, reaction });
  });
  runner.start();
  for (let reached: string | undefined; ;) {
    const head = await process.log.head();
    if (head === undefined || head === reached) break;
    expect(await runner.waitFor(head, 20_000)).toBe(true);
    reached = head;
  }
  await runner.stop();
  expect(await runner.parkedCounts()).toMatchObject({ parked: 0, heldBack: 0 });
  return done;
}

/** As a leader does that has not noticed yet that it lost the lock, from the first event on. */
const alsoLeading = (): PolicyStores => ({
  ...postgresPolicyStores(pool),
  checkpoints: {
    load: () => Promise.resolve({ position: null, witness: undefined, trail: [], losses: 0 }),
    write: () => Promise.resolve(),
  },
  locks: {
    take: (names) => Promise.resolve(names),
    onLost: () => undefined,
    release: () => undefined,
  },
});

/** Everything in the log is reacted to again. */
const fromTheStart = () => pool.query('truncate ledger.policy_checkpoints');

/** The types of the account's events to which a policy sent a command, in order. */
const commanded = (done: readonly CarriedOut[], accountId: string, by: string) =>
  done.flatMap(({ event, policy, reaction }) =>
    event.accountRef === refOf(accountId) && policy === by && reaction.kind === 'command'
      ? [event.event.type]
      : [],
  );
const recordedIn = (accountId: string) =>
  one.recordedOf(one.names.accountStream(scope, refOf(accountId)));
const granted = async (accountId: string) =>
  (await recordedIn(accountId)).filter(({ event }) => event.type === 'RewardGranted');

it('the referrer’s reward is granted once, however often and wherever its reaction is carried out', async () => {
  await one.userWithCode('referrer', 'ann', 'ANN');
  const referralId = await one.convertedReferral('referred', 'ANN');
  const third = await ledger.process();
  const atOnce = await Promise.all([one, other, third].map((of) => react(of, alsoLeading())));
  for (const done of atOnce)
    expect(commanded(done, 'referred', GRANT)).toEqual(['ReferralConverted']);
  await fromTheStart();
  expect(commanded(await react(await ledger.process()), 'referred', GRANT)).toEqual([
    'ReferralConverted',
  ]);
  const earning = (await recordedIn('referred')).find(
    ({ event }) => event.type === 'ReferralConverted',
  );
  const eventId = earning?.recorded.id ?? '';
  expect(await granted('referrer')).toMatchObject([
    {
      event: { referralId, source: 'FRIEND_SIGNUP' },
      envelope: {
        commandId: deterministicId(eventId, GRANT),
        causationId: eventId,
        correlationId: earning?.envelope.correlationId,
        actor: { kind: 'policy', id: GRANT },
      },
    },
  ]);
});

it('a standby reads the checkpoint only while a caller waits for it', async () => {
  let reads = 0;
  const stores = alsoLeading();
  const load = () => {
    reads += 1;
    return stores.checkpoints.load();
  };
  const carryOut = () => Promise.resolve();
  const standby = runnerOf(
    one,
    { ...stores, checkpoints: { ...stores.checkpoints, load } },
    carryOut,
  );
  jest.useFakeTimers({ doNotFake: ['nextTick', 'queueMicrotask'] });
  try {
    const waiting = standby.waitFor('1', 100);
    await jest.advanceTimersByTimeAsync(10_000);
    expect(await waiting).toBe(false);
    expect(reads).toBeLessThan(10);
  } finally {
    await standby.stop();
    jest.useRealTimers();
  }
});
