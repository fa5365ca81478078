import type { Core } from '../../stores/core.js';
import { isServiceRunning } from '../../stores/followed-log.js';
import type { Scope } from '../../domain/scope.js';
import type { Position } from '../../event-log/event-log.js';
import { pause } from '../../foundation/pause.js';
import { readModelsReachHead } from '../../projecting/following/read-models-reach-head.js';
import { withSnapshot } from '../../projecting/generations/generation-diff.js';
import { findAccount } from './ledger-entries.js';
import { select, type SelectionOptions } from './ledger-selection.js';
import { accountProjectors } from '../../../projections/account-projectors.js';
import { ReadModelSnapshot } from './replay/live-rows.js';
import { ReplayRun, type ReplayWork } from './replay/replay-run.js';

export interface ReplayRequest extends Pick<SelectionOptions, 'asOf' | 'position'> {
  readonly account?: string;
  /** The end of an earlier run: the accounts up to it are skipped. */
  readonly resumeFrom?: Position;
}

type ReplayCore = Pick<Core, 'log' | 'codec' | 'names' | 'pool' | 'tenants'>;

const CATCH_UP_MS_MAX = 10_000;

/** Refused for what a replay would be refused for before it reads anything. */
export async function selectReplayed(
  core: Pick<ReplayCore, 'log' | 'names' | 'tenants'>,
  scope: Scope,
  { account, asOf, position, resumeFrom }: ReplayRequest,
) {
  const now = await core.tenants.now(scope);
  const selection = await select(core.log, { asOf, position }, now);
  const from = await select(core.log, { position: resumeFrom });
  const one = account === undefined ? undefined : await findAccount(core, scope, account);
  /** Without `one` every account, with `after` those opened after it. */
  return { selection, one, after: from.upTo };
}

/**
 * `ledger replay`: folds the log with the projectors and compares every row with those of the live
 * read models, all read from one snapshot. A read model is compared at its own position; for an
 * earlier selection, an account is compared when nothing happened to it since, and otherwise only
 * folded. Writes nothing. Returned with what its audit event contains. @throws {UnreadableEvent}
 */
export async function replayLedger(
  core: ReplayCore,
  scope: Scope,
  request: ReplayRequest,
  work: ReplayWork = {},
) {
  const replayed = await selectReplayed(core, scope, request);
  const { selection, one, after } = replayed;
  if (selection.upTo !== undefined) await untilReadModelsReach(core, selection.upTo, work.signal);
  return withSnapshot(core.pool, async (moment) => {
    await moment.take();
    const snapshot = await ReadModelSnapshot.of(moment.client);
    const run = new ReplayRun(core, scope, selection, snapshot, work);
    const result = one ? await run.account(one.ref) : await run.everyAccount(after);
    const { asOf, position, resumeFrom } = request;
    return { result, parameters: { account: one?.ref, asOf, position, resumeFrom } };
  });
}

/** Read models may lag behind the newest events; while a service runs, they soon catch up. */
async function untilReadModelsReach(
  { log, pool }: Pick<ReplayCore, 'log' | 'pool'>,
  position: Position,
  signal?: AbortSignal,
): Promise<void> {
  const end = performance.now() + CATCH_UP_MS_MAX;
  const upTo = { head: () => Promise.resolve(position), compare: log.compare.bind(log) };
  const isThere = await readModelsReachHead(pool, upTo, accountProjectors);
  while (!(await isThere()) && (await isServiceRunning(pool))) {
    if (performance.now() > end || signal?.aborted) return;
    await pause(50, signal);
  }
}
