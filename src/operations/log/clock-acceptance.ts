import type { Core } from '../../stores/core.js';
import { MODES, type Scope } from '../../domain/scope.js';
import { isAhead, msAhead } from '../../event-log/clock.js';
import type { Position } from '../../event-log/event-log.js';
import { run, tables } from '../../postgres/statements.js';
import { inTransaction } from '../../postgres/transaction.js';
import { recordDone, recordOperation, shownStaff, type Operation, type Staff } from '../audit.js';
import { NotDone, type Outcome } from '../outcome.js';

export interface ClockAcceptanceRequest {
  readonly reason: string;
  readonly by: Staff;
  readonly warn: (line: string) => void;
}

/** The newest entry of the log when it was accepted; the JSON of `log accept-clock`. */
export interface ClockAcceptance {
  readonly position: Position;
  /** ISO 8601. */
  readonly recordedAt: string;
  readonly aheadSeconds: number;
  readonly reason: string;
}

type AcceptingCore = Pick<Core, 'pool' | 'log' | 'commands' | 'names' | 'streams'>;

/**
 * `log accept-clock`: records the acceptance in every tenant's part of the log, on a core that
 * `acceptsClock`. The first of these entries carries the time of the clock, so the newest entry of
 * the log is no longer ahead, and every process appends again.
 */
export async function acceptClock(
  core: AcceptingCore,
  request: ClockAcceptanceRequest,
): Promise<Outcome<ClockAcceptance>> {
  const { head: position, recordedAt = 0 } = await core.log.check();
  if (position === undefined || !isAhead({ recordedAt }))
    return new NotDone({ code: 'CLOCKS_AGREE' });
  const { reason, by, warn } = request;
  const acceptance = {
    position,
    recordedAt: new Date(recordedAt).toISOString(),
    aheadSeconds: msAhead({ recordedAt }) / 1_000,
    reason,
  };
  const row = { log_id: await core.log.id(), position, recorded_at: BigInt(recordedAt) };
  await inTransaction(core.pool, async (client) => {
    await run(
      client,
      tables
        .insertInto('ledger.clock_acceptances')
        .values({ ...row, accepted_by: shownStaff(by), reason })
        .onConflict((conflict) => conflict.doNothing()),
    );
    await record(core, acceptance, request);
  });
  if (isAhead(await core.log.check()))
    warn('the clock of the event store is still ahead: set it, until then writes are refused');
  return acceptance;
}

/**
 * The reason is free text and may name a person: it is stored in `ledger.clock_acceptances` only,
 * and the digest in the event covers it.
 */
async function record(
  core: AcceptingCore,
  result: ClockAcceptance,
  { by, warn }: ClockAcceptanceRequest,
): Promise<void> {
  const { position, recordedAt, aheadSeconds } = result;
  const parameters = { position, recordedAt, aheadSeconds };
  const done: Operation = { operation: 'log accept-clock', by, parameters, result };
  const [first, ...others] = await everyScope(core);
  if (first === undefined) throw new Error('a log with entries has a tenant');
  await recordOperation(core, first, done);
  for (const scope of others)
    await recordDone(core, scope, done, { completed: 'the clock was accepted', warn });
}

async function everyScope({ streams, names }: AcceptingCore): Promise<readonly Scope[]> {
  const { state } = await streams.tenantRegister.load(names.tenantRegisterStream());
  return state.aliases.flatMap((tenant) => MODES.map((mode) => ({ tenant, mode })));
}
