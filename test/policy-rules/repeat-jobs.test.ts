import type { DomainEvent } from '../../src/domain/events.js';
import type { RecordedEvent } from '../../src/event-log/event-log.js';
import { repeatJobsJob, repeatJobs, type RepeatingParts } from '../../src/policies/repeat-jobs.js';
import type { LedgerEvent } from '../../src/projecting/projector.js';
import { anAccount, credit, partyOf, rewardGranted } from '../support/account-events.js';
import { ledgerEventOf } from '../support/test-ledger.js';

const ANNS = anAccount('anns');
const ANN = partyOf(ANNS, 'ann');
const DAY_MS = 86_400_000;

type Granted = ReturnType<typeof rewardGranted>;

function recordedOf(grants: readonly Granted[]): readonly RecordedEvent[] {
  return grants.map(({ type }, index) => ({
    id: String(index),
    type,
    data: '{}',
    metadata: '{"v":3}',
    stream: ANNS.accountRef,
    revision: BigInt(index),
    position: String(index),
    recordedAt: 1,
  }));
}

const decodedAs = (
  { id: eventId, stream, revision, position, recordedAt }: RecordedEvent,
  event: Granted,
): LedgerEvent<DomainEvent> =>
  ledgerEventOf<DomainEvent>(ANNS, event, { eventId, stream, revision, position, recordedAt });

/** A log of these grants, and a codec that reads them. */
function readingOf(grants: readonly Granted[]): Pick<RepeatingParts, 'log' | 'decode'> {
  const recorded = recordedOf(grants);
  return {
    log: {
      readAll: (after) => Promise.resolve(after === undefined ? recorded : []),
      head: () => Promise.resolve(recorded.at(-1)?.position),
      compare: (a = '', b = '') => a.localeCompare(b),
    },
    decode: (some) =>
      Promise.resolve(some.map((event) => decodedAs(event, grants[Number(event.id)]!))),
  };
}

it('the payment of an account is requested again after a loss, however old its reward is', async () => {
  const grants = [
    rewardGranted('paid', ANN, credit(100), { payTo: 'provider' }),
    rewardGranted('own', ANN, credit(100)),
  ];
  const planned: unknown[] = [];
  await repeatJobs(
    {
      ...readingOf(grants),
      jobs: { add: () => Promise.reject(new Error('nothing is due')) },
      payments: {
        plan: ({ eventId }, { of }) => Promise.resolve(void planned.push([eventId, of])),
      },
    },
    Date.now() - 7 * DAY_MS,
  );
  expect(planned).toEqual([['0', { account: ANNS.accountRef }]]);
});

it('jobs of events that a newer release has recorded are left to that release', async () => {
  const dateScheduledFor = Date.now() + DAY_MS;
  const grants = [
    rewardGranted('unread', ANN, credit(100), { dateScheduledFor }),
    rewardGranted('read', ANN, credit(100), { dateScheduledFor }),
  ];
  const added: unknown[] = [];
  const parts = {
    ...readingOf(grants),
    jobs: { add: ({ key }: { readonly key: string }) => Promise.resolve(void added.push(key)) },
  };
  const older = ({ id }: RecordedEvent) => (id === '0' ? 'it is of a later release' : undefined);
  await expect(repeatJobs({ ...parts, unreadableReason: older }, Date.now())).rejects.toThrow(
    'the jobs of 1 events are left to a release that can read them',
  );
  expect(added).toEqual(['settle-reward/read/available']);
  await repeatJobs(parts, Date.now());
  expect(added.slice(1)).toEqual([
    'settle-reward/unread/available',
    'settle-reward/read/available',
  ]);
});

it('jobs that were due in the thirty days before a loss are repeated, older ones not', async () => {
  const due = (rewardId: string, days: number) =>
    rewardGranted(rewardId, ANN, credit(100), { dateScheduledFor: Date.now() - days * DAY_MS });
  const added: unknown[] = [];
  const parts = {
    ...readingOf([due('early', 31), due('late', 29)]),
    jobs: { add: ({ key }: { readonly key: string }) => Promise.resolve(void added.push(key)) },
  };
  await repeatJobs(parts, Date.parse(repeatJobsJob().payload['since'] ?? ''));
  expect(added).toEqual(['settle-reward/late/available']);
});
