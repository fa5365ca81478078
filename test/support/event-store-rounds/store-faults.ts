import { setTimeout as delay } from 'node:timers/promises';
import type { EventStoreDbDouble } from '../eventstoredb-double/double.js';
import type { SeededRandom } from '../../harness/seeded-random.js';

/** A fault of a round: it begins after a while, and lasts for a time or for some calls. */
export interface PlannedFault {
  readonly name: FaultKind;
  /** Milliseconds of load before it. */
  readonly afterMs: number;
  /** The number of calls that it affects, for faults of calls. */
  readonly calls: number;
  /** How long it lasts, for lasting faults; how late the answer is, for a late answer. */
  readonly ms: number;
  readonly how: (typeof WAYS_TO_LOSE)[number];
}

const WAYS_TO_LOSE = ['unavailable', 'cut', 'silence'] as const;

/** The faults between the service and its store, and of the service itself. */
export const FAULT_KINDS = [
  'answer lost',
  'answer late',
  'polite end',
  'cut',
  'cut at a call',
  'not ready',
  'not leader',
  'slow consumer',
  'hung',
  'call swallowed',
  'store killed',
  'service killed',
] as const;

export type FaultKind = (typeof FAULT_KINDS)[number];

/** One to three faults; the same for the same chance. */
export function planFaults(random: SeededRandom): readonly PlannedFault[] {
  return Array.from({ length: random.integer(1, 3) }, () => ({
    name: random.pick(FAULT_KINDS),
    afterMs: random.integer(20, 250),
    calls: random.integer(1, 12),
    ms: random.integer(20, 700),
    how: random.pick(WAYS_TO_LOSE),
  }));
}

/**
 * Causes the fault. A lasting one has ended when this returns; one that waits for calls may still
 * wait.
 */
export async function inflict(
  fault: PlannedFault,
  double: EventStoreDbDouble,
  killService: () => Promise<void>,
): Promise<void> {
  const { calls, ms, how } = fault;
  const { faults } = double;
  await delay(fault.afterMs);
  switch (fault.name) {
    case 'answer lost':
      return faults.next('answer-lost', calls, { methods: ['append'], how });
    case 'answer late':
      return faults.next('answer-late', calls, { ms });
    case 'polite end':
      // Of subscriptions: a read that ends so has been answered in full, for a server that breaks
      // off ends it with an error.
      return faults.next('stream-ended', calls, { methods: ['subscribe'] });
    case 'cut':
      for (let cut = 0; cut < calls; cut++) {
        double.cutConnections();
        await delay(ms / 20);
      }
      return;
    case 'cut at a call':
      return faults.next('connection-cut', calls);
    case 'not ready':
      return faults.during('not-ready', () => delay(ms));
    case 'not leader':
      return faults.next('not-leader', calls);
    case 'slow consumer':
      return faults.next('slow-consumer', calls);
    case 'hung':
      return faults.during('hung', () => delay(ms));
    case 'call swallowed':
      return faults.next('hung', calls, { methods: ['append'] });
    case 'store killed':
      await double.kill();
      await delay(ms);
      return double.restart();
    case 'service killed':
      return killService();
  }
}
