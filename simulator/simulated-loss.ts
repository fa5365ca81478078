import type { SeenEvent } from '../src/event-log/event-log.js';
import { repeatingJob } from '../src/policies/repeat-jobs.js';
import type { TrailPoint } from '../src/policies/policy-checkpoint.js';
import type { SimulatedAnswerTable } from './simulated-answers.js';
import type { JobTable } from './simulated-jobs.js';
import type { SimulatedPolicyTable } from './simulated-policy-stores.js';
import type { SimulatedStore } from './simulated-store.js';

/** What refers to positions of the log. */
export interface Referring {
  readonly log: SimulatedStore;
  readonly policies: SimulatedPolicyTable;
  readonly answers: SimulatedAnswerTable;
  readonly jobs: JobTable;
}

/**
 * Repairs the database after the log lost its end, as `settleLoss` does it in one transaction:
 * policies go back to the last checkpoint whose reactions are all there, parked reactions to lost
 * events go, jobs are repeated, answers that may rest on a lost event are forgotten.
 */
export function settleSimulatedLoss(of: Referring, noticed: SeenEvent | undefined): void {
  const { log, policies } = of;
  const { position, witness } = policies.checkpoint;
  const arePoliciesLost =
    position !== null &&
    (witness === undefined ? log.positions.number(position) > log.head : !log.holds(witness));
  const isNoticed = noticed !== undefined && !log.holds(noticed);
  if (!arePoliciesLost && !isNoticed && !log.isUnrepaired) return;
  log.isUnrepaired = false;
  const standing = newestStanding(of);
  if (arePoliciesLost) {
    const trail = intact(of);
    policies.moveBack(trail.at(-1), trail);
  }
  policies.rows = policies.rows.filter(({ parked: { position: at, eventId } }) =>
    log.holds({ position: at, eventId }),
  );
  policies.parkRetriedAgain((event) => log.holds(event));
  of.jobs.add(repeatingJob());
  of.answers.forgetBehind(standing);
}

/** The earlier checkpoints up to the last one that the log still has. */
function intact({ log, policies }: Referring): readonly TrailPoint[] {
  const left = [...policies.checkpoint.trail];
  for (let last = left.at(-1); last && !log.holds(last.witness); last = left.at(-1)) left.pop();
  return left;
}

/** The newest position that is known to be intact; -1: none. */
function newestStanding({ log, policies }: Referring): bigint {
  const { witness, trail } = policies.checkpoint;
  const seen = [...trail.map((point) => point.witness), ...(witness ? [witness] : [])];
  const ordinals = seen
    .filter((event) => log.holds(event))
    .map(({ position }) => log.positions.number(position));
  return ordinals.reduce((newest, ordinal) => (ordinal > newest ? ordinal : newest), -1n);
}
