import { CLOCK_RUNBOOK, isAhead, msAhead } from '../event-log/clock.js';
import type { EventLog } from '../event-log/event-log.js';
import { durationText } from '../foundation/duration.js';
import { pause } from '../foundation/pause.js';
import type { Logger } from '../foundation/logger.js';

const EVERY_MS = 1_000;

/**
 * Logs when the newest event of the log begins and ends to be ahead of this process's clock. The
 * log itself refuses appends meanwhile.
 */
export async function watchClock(
  log: Pick<EventLog, 'check'>,
  logger: Pick<Logger, 'info' | 'error'>,
  signal: AbortSignal,
): Promise<void> {
  for (let wasAhead = false; !signal.aborted; await pause(EVERY_MS, signal)) {
    // An unavailable log is compared later.
    const newest = await log.check().catch(() => undefined);
    if (newest === undefined || isAhead(newest) === wasAhead) continue;
    wasAhead = !wasAhead;
    const ms = msAhead(newest);
    const facts = { position: newest.head ?? null, aheadSeconds: ms / 1_000 };
    if (wasAhead)
      logger.error(
        { ...facts, ahead: durationText(ms), runbook: CLOCK_RUNBOOK },
        'the newest entry of the log is ahead of the clock: writes are refused',
      );
    else logger.info(facts, 'the newest entry of the log agrees with the clock again');
  }
}
