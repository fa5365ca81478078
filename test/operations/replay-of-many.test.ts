import { foldAccount, type KnownEvent } from '../../src/operations/ledger/replay/folded-account.js';
import { expectedBalances } from '../../src/operations/ledger/replay/expected-rewards.js';
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
const SOME = 2_000;
const SIXTEEN_TIMES = 16 * SOME;

const known = (events: readonly KnownEvent['event'][]): KnownEvent[] =>
  events.map((event, index) => ({ event, eventId: String(index) }));
const opening = [accountOpened(ACME), userIdentified(ACME, 'ann')];
const grants = (count: number) =>
  Array.from({ length: count }, (_, index) => rewardGranted(`reward-${index}`, ANN, credit(1)));

/** With the square it would be 256; memory that no longer fits into caches makes it up to 50. */
const GROWS_AT_MOST = 120;

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

it('what a replay expects of an account grows with its rewards, not with their square', () => {
  const foldOf = (count: number) => foldAccount(known([...opening, ...grants(count)]));
  const [some, many] = [foldOf(SOME), foldOf(SIXTEEN_TIMES)];
  const base = cpuMsOf(() => expectedBalances(some, ACME.accountRef));
  expect(cpuMsOf(() => expectedBalances(many, ACME.accountRef))).toBeLessThan(GROWS_AT_MOST * base);
});

it('what a replay expects of a reward grows with its redemptions, not with their square', () => {
  const reward = rewardGranted('reward', ANN, credit(SIXTEEN_TIMES));
  const eventsOf = (count: number) =>
    known([
      ...opening,
      reward,
      ...Array.from({ length: count }, (_, index) =>
        creditRedeemed(reward, `r-${index}`, 1, 3_000),
      ),
    ]);
  const [some, many] = [eventsOf(SOME), eventsOf(SIXTEEN_TIMES)];
  const base = cpuMsOf(() => foldAccount(some));
  expect(cpuMsOf(() => foldAccount(many))).toBeLessThan(GROWS_AT_MOST * base);
});
