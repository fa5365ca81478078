import fc from 'fast-check';
import { useDatabase } from '../support/database.js';
import { eventually } from '../support/embedded.js';
import { InMemoryEventLog } from '../support/in-memory-event-log.js';
import { NEW_FACT, OLD_FACT, OTHER_FACT, streamOf, TestReleases } from '../support/releases.js';
import { runs } from '../support/property-runs.js';

const { pool } = useDatabase(6);

const happening = fc.record({
  kind: fc.constant('facts' as const),
  account: fc.constantFrom('a', 'b', 'c'),
  facts: fc.array(fc.constantFrom(OLD_FACT, NEW_FACT, OTHER_FACT), { minLength: 1, maxLength: 4 }),
});
const turn = fc.record({
  kind: fc.constant('turn' as const),
  release: fc.constantFrom('older' as const, 'newer' as const),
});
const failing = fc.record({
  kind: fc.constant('failing' as const),
  account: fc.constantFrom('a', 'b', 'none'),
});
const story = fc.array(
  fc.oneof(
    { weight: 4, arbitrary: happening },
    { weight: 2, arbitrary: turn },
    { weight: 1, arbitrary: failing },
  ),
  {
    minLength: 3,
    maxLength: 14,
  },
);

it('after any sequence of leading releases and failures, the newer one has reacted to every event, in order', async () => {
  let unknownMet = 0;
  await fc.assert(
    fc.asyncProperty(story, async (steps) => {
      const releases = await TestReleases.on(pool, new InMemoryEventLog());
      let leader = releases.older();
      let head: string | undefined;
      let isAnyFailing = false;
      for (const step of steps) {
        if (step.kind === 'facts') head = await releases.happened(step.account, ...step.facts);
        else if (step.kind === 'failing') {
          isAnyFailing ||= step.account !== 'none';
          releases.failure = ({ stream }) =>
            stream === streamOf(step.account) ? new Error('not now') : undefined;
        } else {
          // Sometimes in the middle of the page, sometimes behind it.
          if (head !== undefined && step.release === 'newer')
            expect(await leader.waitFor(head, 20_000)).toBe(true);
          await releases.stop(leader);
          leader = step.release === 'older' ? releases.older() : releases.newer();
        }
      }
      if (head !== undefined) expect(await leader.waitFor(head, 20_000)).toBe(true);
      unknownMet += (await leader.parkedCounts()).heldBack;
      await releases.stop(leader);
      releases.failure = () => undefined;
      leader = releases.newer();
      if (head !== undefined) expect(await leader.waitFor(head, 20_000)).toBe(true);
      await eventually(
        async () => (await pool.query('select from ledger.parked_reactions')).rows.length === 0,
      );
      const expected = await releases.expected();
      if (isAnyFailing)
        expect(TestReleases.perPolicy(releases.reactions())).toEqual(
          TestReleases.perPolicy(expected),
        );
      else expect(releases.reactions()).toEqual(expected);
      await releases.stopAll();
    }),
    { numRuns: runs(15), examples: [[[{ kind: 'facts', account: 'a', facts: [NEW_FACT] }]]] },
  );
  expect(unknownMet).toBeGreaterThan(0);
}, 120_000);
