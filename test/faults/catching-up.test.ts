import type { Position } from '../../src/event-log/event-log.js';
import { enterWorldWith } from '../support/clock-of-process.js';
import { eventually } from '../support/embedded.js';
import { ServiceReadiness } from '../../src/observability/health.js';

/** What a start waits for, over a log that loses its end meanwhile. */
it('a head that the log has lost is no longer waited for', async () => {
  let head: Position | undefined = '9';
  let isShown = false;
  const asked: Position[] = [];
  const reaches = (position: Position): Promise<boolean> => {
    asked.push(position);
    // While the read models catch up, a standby takes over that has less. The live generations
    // stay: they had not come so far.
    if (asked.length === 2) head = '5';
    return Promise.resolve(Number(position) <= 5);
  };
  const log = {
    head: () => Promise.resolve(head),
    compare: (a?: Position, b?: Position) => Number(a ?? 0) - Number(b ?? 0),
  };
  const followedLog = {
    liveGenerations: () => Promise.resolve('accounts 2'),
    markRebuilt: () => Promise.resolve(void (isShown = true)),
  };
  const follower = {
    waitFor: reaches,
    checkpoint: () => Promise.resolve('5'),
    positions: () => Promise.resolve(new Map([['accounts', '5']])),
  };
  const generations = {
    refresh: () => Promise.resolve(),
    generationOf: () => 1,
    get areShown() {
      return isShown;
    },
  };
  const parts = [
    { log, followedLog },
    generations,
    { follower, policies: follower, sealer: {} },
    ['accounts'],
  ] as unknown;
  await new ServiceReadiness(
    ...(parts as ConstructorParameters<typeof ServiceReadiness>),
  ).catchUp();
  expect(isShown).toBe(true);
  expect(asked).toEqual(['9', '9', '5', '5']);
}, 5_000);

describe('next to a dead projector', () => {
  let now = 0;
  let leave: () => void;
  beforeEach(() => {
    // Each look at a clock is ten seconds later.
    leave = enterWorldWith({
      now: () => now,
      elapsed: () => (now += 10_000),
      after: (_ms, call) => {
        const timer = setImmediate(call);
        return () => clearImmediate(timer);
      },
    });
  });
  afterEach(() => leave());

  /** `accounts` stays at 3, the log's head is 9. */
  function started(generation: number | undefined) {
    const accounts = { position: '3' as Position, generation };
    const follower = {
      waitFor: () => Promise.resolve(false),
      positions: () => Promise.resolve(new Map([['accounts', accounts.position]])),
    };
    const policies = {
      waitFor: () => Promise.resolve(true),
      checkpoint: () => Promise.resolve('9'),
    };
    const parts = [
      {
        log: {
          head: () => Promise.resolve('9'),
          compare: (a?: Position, b?: Position) => Number(a ?? 0) - Number(b ?? 0),
        },
        followedLog: {
          liveGenerations: () => Promise.resolve('accounts 1'),
          markRebuilt: () => Promise.resolve(),
        },
      },
      {
        refresh: () => Promise.resolve(),
        generationOf: () => accounts.generation,
        areShown: true,
      },
      { follower, policies, sealer: {} },
      ['accounts'],
    ] as unknown;
    const readiness = new ServiceReadiness(
      ...(parts as ConstructorParameters<typeof ServiceReadiness>),
    );
    return { readiness, accounts };
  }

  it('a start continues, and knows what is not included until it is', async () => {
    const { readiness, accounts } = started(1);
    await readiness.catchUp();
    expect(readiness.skippedHead).toBe('9');
    accounts.position = '9';
    await eventually(() => readiness.skippedHead === undefined);
    readiness.stop();
  });

  it('a start without the read models waits for them', async () => {
    const { readiness, accounts } = started(undefined);
    let isOver = false;
    const catchingUp = readiness.catchUp().then(() => (isOver = true));
    await eventually(() => readiness.skippedHead === '9');
    for (let n = 0; n < 50; n++) await new Promise((resolve) => setImmediate(resolve));
    expect(isOver).toBe(false);
    accounts.generation = 1;
    await catchingUp;
    readiness.stop();
  });
});
