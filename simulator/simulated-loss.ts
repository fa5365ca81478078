import type { TrailPoint } from '../src/following/trail.js';
import type { Position, SeenEvent } from '../src/event-log/event-log.js';
import { repeatJobsJob } from '../src/policies/repeat-jobs.js';
import { addJob } from '../src/work-queue/jobs.js';
import type { SimulatedAnswerTable } from './simulated-answers.js';
import type { WorkTable } from './simulated-work.js';
import type { SimulatedPolicyTable } from './simulated-policy-stores.js';
import type { SimulatedReadModels } from './simulated-read-models.js';
import type { SimulatedSealTable } from './simulated-seals.js';
import type { SimulatedWebhookTable } from './simulated-webhooks.js';
import type { SimulatedStore } from './simulated-store.js';

/** What refers to positions of the log. */
export interface Referring {
  readonly log: SimulatedStore;
  readonly policies: SimulatedPolicyTable;
  readonly answers: SimulatedAnswerTable;
  readonly work: WorkTable;
  readonly readModels: SimulatedReadModels;
  readonly webhooks: SimulatedWebhookTable;
  readonly seals: SimulatedSealTable;
}

/**
 * Repairs the database after the log lost its end, as `repairLoss` does it in one transaction: read
 * models that include lost events begin again, policies go back to the last checkpoint whose
 * reactions are all there, parked reactions to lost events go, jobs are repeated, answers that may
 * rest on a lost event are forgotten.
 */
export function settleSimulatedLoss(of: Referring, noticed: SeenEvent | undefined): void {
  const { log, policies, readModels, webhooks } = of;
  const isLost = (at: Position | null | undefined, seen: SeenEvent | undefined): boolean =>
    at != null && (seen === undefined ? log.positions.number(at) > log.head : !log.holds(seen));
  const arePoliciesLost = isLost(policies.checkpoint?.position, policies.checkpoint?.witness);
  const lost = readModels.followed.filter((each) => isLost(each.position, each.seen));
  const isNoticed = noticed !== undefined && !log.holds(noticed);
  const areWebhooksLost = isLost(webhooks.checkpoint?.position, webhooks.seen);
  if (!arePoliciesLost && !areWebhooksLost && lost.length === 0 && !isNoticed) return;
  const standing = newestStanding(of);
  of.seals.isLossOpen = true;
  for (const generation of lost) readModels.renew(generation);
  if (arePoliciesLost) {
    const trail = intact(log, policies.checkpoint?.trail ?? []);
    policies.moveBack(trail);
  }
  if (areWebhooksLost) putFollowerBack(of);
  policies.rows = policies.rows.filter(({ parked: { position: at, eventId } }) =>
    log.holds({ position: at, eventId }),
  );
  policies.parkRetriedAgain((event) => log.holds(event));
  void addJob({ add: (...added) => Promise.resolve(of.work.add(...added)) }, repeatJobsJob());
  of.answers.forgetBehind(standing);
}

/** The earlier checkpoints up to the last one that the log still has. */
function intact(log: SimulatedStore, trail: readonly TrailPoint[]): readonly TrailPoint[] {
  const left = [...trail];
  for (let last = left.at(-1); last && !log.holds(last.witness); last = left.at(-1)) left.pop();
  return left;
}

/** To the last event that the log still has; without one it continues at the head. */
function putFollowerBack({ log, webhooks }: Referring): void {
  const trail = intact(log, webhooks.checkpoint?.trail ?? []);
  const head = log.head === 0n ? null : log.positions.token(log.head);
  const position = trail.at(-1)?.reached ?? head;
  const last = position === null ? -1n : log.positions.number(position);
  webhooks.moveTo({ position, trail }, (changed) => log.positions.number(changed) > last);
}

/** The newest position that is known to be intact; -1: none. */
function newestStanding({ log, policies, readModels, webhooks }: Referring): bigint {
  const { witness, trail = [] } = policies.checkpoint ?? {};
  const seen = [
    ...trail.map((point) => point.witness),
    ...(witness ? [witness] : []),
    ...(webhooks.seen ? [webhooks.seen] : []),
    ...readModels.followed.flatMap((generation) => generation.seen ?? []),
  ];
  const ordinals = seen
    .filter((event) => log.holds(event))
    .map(({ position }) => log.positions.number(position));
  return ordinals.reduce((newest, ordinal) => (ordinal > newest ? ordinal : newest), -1n);
}
