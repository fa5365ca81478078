import type { Pool } from 'pg';
import type { Core } from '../../stores/core.js';
import type { Logger } from '../../foundation/logger.js';
import { pause } from '../../foundation/pause.js';
import { liveCheckpoints, unreadableStreams } from '../../projecting/checkpoints.js';
import { describeError } from '../../projecting/projecting-errors.js';
import type { Projector } from '../../projecting/projector.js';
import { NotDone, outcomeOf } from '../outcome.js';
import { onProjections, type ProjectionOperator } from './projection-operator.js';
import { retryParked } from './projection-repairs.js';

export interface UnreadableRetriesParts {
  readonly core: Pick<Core, 'pool' | 'log' | 'codec' | 'names' | 'commands' | 'tenants' | 'logger'>;
  /** For repairs, see `openOperationsPool`. */
  readonly pool: Pool;
  readonly projectors: readonly Projector[];
  /** Whether this process writes the projection: its release must be able to read the events. */
  readonly leads: (projection: string) => boolean;
  readonly logger: Pick<Logger, 'info' | 'warn'>;
  readonly everyMs?: number;
}

const EVERY_MS = 15_000;
/** Streams of a projection that are repaired together. */
const STREAMS_MAX = 200;

/**
 * Repairs the read models of accounts whose events can be decoded by now: after an upgrade, or when
 * stored bytes were restored.
 */
export class UnreadableRetries {
  private readonly stopping = new AbortController();
  private problem: string | undefined;
  private running: Promise<void> | undefined;

  constructor(private readonly parts: UnreadableRetriesParts) {}

  start(): void {
    this.running ??= this.run();
  }

  /** Ends a repair under way, which then changes nothing. */
  async stop(): Promise<void> {
    this.stopping.abort();
    await this.running;
  }

  private async run(): Promise<void> {
    const { signal } = this.stopping;
    const { projectors, leads, logger, everyMs = EVERY_MS } = this.parts;
    while (!signal.aborted) {
      try {
        for (const projector of projectors.filter(({ name }) => leads(name)))
          await this.retry(projector);
        this.problem = undefined;
      } catch (error) {
        const problem = describeError(error);
        if (!signal.aborted && problem !== this.problem)
          logger.warn({ error: problem }, 'unreadable accounts are retried later');
        this.problem = problem;
      }
      await pause(everyMs, signal);
    }
  }

  private async retry(projector: Projector): Promise<void> {
    const { core, pool, projectors, logger } = this.parts;
    const { name: projection } = projector;
    const { signal } = this.stopping;
    const [live] = await liveCheckpoints(core.pool, [projector]);
    if (live === undefined) return;
    const warn = (line: string): void => logger.warn({ projection }, line);
    const caller = { projectors, by: { name: 'service', channel: 'cli' }, signal, warn } as const;
    for (let after = ''; !signal.aborted;) {
      const parked = await unreadableStreams(core.pool, live, { after, limit: STREAMS_MAX });
      const last = parked.at(-1);
      if (last === undefined) return;
      after = last.stream;
      let readable = 0;
      const work = async (operator: ProjectionOperator) => {
        const only = new Set<string>();
        for (const { stream, revision } of parked)
          if (await isReadable(operator, stream, revision)) only.add(stream);
        readable = only.size;
        return only.size === 0 ? {} : retryParked(operator, [projector], { only });
      };
      const outcome = await outcomeOf(() => onProjections(core, pool, caller, work));
      // An operator changes the read models at the moment: the next round tries again.
      if (!(outcome instanceof NotDone) && readable > 0)
        logger.info(
          { projection, streams: readable },
          'accounts that can be read again are repaired',
        );
    }
  }
}

/** Whether the event that parked the stream can be decoded now. */
async function isReadable(
  { parts: { log, decode } }: Pick<ProjectionOperator, 'parts'>,
  stream: string,
  revision: bigint,
): Promise<boolean> {
  for await (const event of log.readStream(stream, { from: revision })) {
    const [decoded] = await decode([event]);
    return decoded !== undefined && !('undecodable' in decoded);
  }
  return false;
}
