import { COMPARED } from '../../src/operations/ledger/replay/live-rows.js';
import { ProjectionFold } from '../../src/projecting/generations/log-fold.js';
import type { AccountEvent } from '../../src/domain/account/account.events.js';
import {
  accountOpened,
  anAccount,
  credit,
  creditRedeemed,
  partyOf,
  rewardGranted,
  userIdentified,
} from '../support/account-events.js';

/**
 * A replay over HTTP runs in the service: what grows with the square of an account's past stops
 * everybody for minutes.
 */

const ACME = anAccount('acme');
const ANN = partyOf(ACME, 'ann');
const SOME = 500;
const SIXTEEN_TIMES = 16 * SOME;

const opening = [accountOpened(ACME), userIdentified(ACME, 'ann')];
const grants = (count: number) =>
  Array.from({ length: count }, (_, index) => rewardGranted(`reward-${index}`, ANN, credit(1)));

/** With the square it would be 256; memory that no longer fits into caches makes it up to 50. */
const GROWS_AT_MOST = 120;

function fold(events: readonly AccountEvent[]): void {
  const { tenant, mode, accountRef, stream } = ACME;
  const scope = { tenant, mode, accountRef, stream, correlationId: 'c', commandId: 'c' };
  const folds = COMPARED.map((projector) => new ProjectionFold(projector, 'end'));
  for (const [index, event] of events.entries())
    for (const each of folds)
      each.apply({
        ...scope,
        event,
        eventId: String(index),
        revision: BigInt(index),
        position: String(index),
        recordedAt: event.at,
      });
}

/** The best of three: the collector of garbage may step in at any time. */
function cpuMsOf(work: () => unknown): number {
  const measured = [1, 2, 3].map(() => {
    const before = process.cpuUsage();
    work();
    const { user, system } = process.cpuUsage(before);
    return (user + system) / 1000;
  });
  return Math.min(...measured);
}

const reward = rewardGranted('reward', ANN, credit(SIXTEEN_TIMES));
const redemptions = (count: number) =>
  Array.from({ length: count }, (_, index) => creditRedeemed(reward, `r-${index}`, 1, 3_000));

test.each([
  ['rewards', grants],
  ['redemptions of one reward', (count: number) => [reward, ...redemptions(count)]],
])('a replay grows with the %s of an account, not with their square', (_, events) => {
  const [some, many] = [SOME, SIXTEEN_TIMES].map((count) => [...opening, ...events(count)]);
  const base = cpuMsOf(() => fold(some ?? []));
  expect(cpuMsOf(() => fold(many ?? []))).toBeLessThan(GROWS_AT_MOST * base);
});
