import { MODES } from '../../domain/scope.js';
import { isAhead, msAhead } from '../../event-log/clock.js';
import { run, tables } from '../../postgres/statements.js';
import { inTransaction } from '../../postgres/transaction.js';
import { recordDone, recordOperation, shownStaff, type Operation } from '../audit.js';
import { notDone } from '../outcome.js';
import type { OperationContext } from '../registry/context.js';

/**
 * `log accept-clock`: records the acceptance in every tenant's part of the log, on a core that
 * `acceptsClock`. The first of these entries carries the time of the clock, so the newest entry of
 * the log is no longer ahead, and every process appends again.
 */
export async function acceptClock(
  { core, by, warn }: Pick<OperationContext, 'core' | 'by' | 'warn'>,
  { reason }: { readonly reason: string },
) {
  const { head: position, recordedAt = 0 } = await core.log.check();
  if (position === undefined || !isAhead({ recordedAt }))
    throw notDone('the newest entry of the log is not ahead of the clock: nothing to accept');
  // The newest entry of the log when it was accepted.
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
    // The reason may name a person: the row has it, and the digest in the events covers it.
    const { reason: _, ...parameters } = acceptance;
    const done: Operation = { operation: 'log accept-clock', by, parameters, result: acceptance };
    const { state } = await core.streams.tenantRegister.load(core.names.tenantRegisterStream());
    const [first, ...others] = state.aliases.flatMap((tenant) =>
      MODES.map((mode) => ({ tenant, mode })),
    );
    if (first === undefined) throw new Error('a log with entries has a tenant');
    await recordOperation(core, first, done);
    for (const scope of others)
      await recordDone(core, scope, done, { completed: 'the clock was accepted', warn });
  });
  if (isAhead(await core.log.check()))
    warn('the clock of the event store is still ahead: set it, until then writes are refused');
  return acceptance;
}
