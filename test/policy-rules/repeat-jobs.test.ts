import type { DomainEvent } from '../../src/domain/events.js';
import type { RecordedEvent } from '../../src/event-log/event-log.js';
import { repeatJobs } from '../../src/policies/repeat-jobs.js';
import type { LedgerEvent } from '../../src/projecting/projector.js';
import { anAccount, credit, partyOf, rewardGranted } from '../support/account-events.js';

const ANNS = anAccount('anns');
const ANN = partyOf(ANNS, 'ann');
const DAY_MS = 86_400_000;

it('an account with a reward for the provider is asked for again after a loss, however old it is', async () => {
  const grants = [
    rewardGranted('paid', ANN, credit(100), { payTo: 'provider' }),
    rewardGranted('own', ANN, credit(100)),
  ];
  const recorded = grants.map(({ type }, index): RecordedEvent => ({
    id: String(index),
    type,
    data: '{}',
    metadata: '{"v":3}',
    stream: ANNS.accountRef,
    revision: BigInt(index),
    position: String(index),
    recordedAt: 1,
  }));
  const decoded = recorded.map(
    ({ id, stream, revision, position, recordedAt }, index): LedgerEvent<DomainEvent> => ({
      event: grants[index]!,
      eventId: id,
      stream,
      revision,
      position,
      recordedAt,
      tenant: 'demo',
      mode: 'live',
      accountRef: ANNS.accountRef,
      correlationId: 'correlation',
      commandId: 'command',
    }),
  );
  const planned: unknown[] = [];
  await repeatJobs(
    {
      log: { readAll: (after) => Promise.resolve(after === undefined ? recorded : []) },
      decode: () => Promise.resolve(decoded),
      jobs: { add: () => Promise.reject(new Error('nothing is due')) },
      payments: {
        plan: ({ eventId }, { of }) => Promise.resolve(void planned.push([eventId, of])),
      },
    },
    Date.now() - 7 * DAY_MS,
  );
  expect(planned).toEqual([['0', { account: ANNS.accountRef }]]);
});
