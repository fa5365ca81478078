import type { Position } from '../../src/event-log/event-log.js';
import { ServiceReadiness } from '../../src/process/health.js';

/**
 * What the service waits for before it shows its read models, over a log that loses its end
 * meanwhile.
 */
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
  const follower = { waitFor: reaches, checkpoint: () => Promise.resolve('5') };
  const generations = {
    refresh: () => Promise.resolve(),
    get areShown() {
      return isShown;
    },
  };
  const parts = [
    { log, followedLog },
    generations,
    { projections: follower, policies: follower, sealer: {} },
    ['accounts'],
  ] as unknown;
  await new ServiceReadiness(
    ...(parts as ConstructorParameters<typeof ServiceReadiness>),
  ).catchUp();
  expect(isShown).toBe(true);
  expect(asked).toEqual(['9', '9', '5', '5']);
}, 5_000);
