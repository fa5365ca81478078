import type pg from 'pg';
import { Follower, type FollowerOptions } from '../../src/following/follower.js';
import type { Handler } from '../../src/following/handler.js';
import { AdvisoryLocks } from '../../src/postgres/leadership.js';
import {
  Projections,
  type ProjectionsOptions,
} from '../../src/projecting/following/projections.js';
import { decodePage, type Page } from '../../src/projecting/page.js';
import type { DecodeEvents } from '../../src/projecting/projector.js';
import {
  PolicyRunner,
  type PolicyRunnerOptions,
  type PolicyStatus,
} from '../../src/reacting/policy-runner.js';

const SOON = { leaseEveryMs: 20, retryMs: { first: 5, max: 20 } };

type Timing = Partial<
  Pick<
    FollowerOptions<Page>,
    | 'settle'
    | 'pageSize'
    | 'restMs'
    | 'leaseEveryMs'
    | 'pollEveryMs'
    | 'retryMs'
    | 'logger'
    | 'locks'
  >
>;

/** A follower of one handler. */
export function followedAlone(
  handler: Handler<Page>,
  {
    pool,
    decode,
    ...options
  }: Pick<FollowerOptions<Page>, 'log'> &
    Timing & { readonly pool: pg.Pool; readonly decode?: unknown },
): Follower<Page> {
  return new Follower<Page>({
    ...SOON,
    locks: new AdvisoryLocks(pool),
    ...options,
    handlers: [handler],
    decode: (recorded) =>
      decodePage(recorded, (decode as DecodeEvents | undefined) ?? nothingDecoded),
  });
}

const nothingDecoded: DecodeEvents = (recorded) =>
  Promise.resolve(
    recorded.map(({ stream, revision, position }) => ({
      undecodable: 'not decoded here',
      stream,
      revision,
      position,
    })),
  );

export type FollowedProjectionsOptions = ProjectionsOptions & Omit<Timing, 'locks'>;

/** The projections of one process, and their follower. */
export class FollowedProjections extends Follower<Page> {
  private readonly projections: Projections;

  constructor(options: FollowedProjectionsOptions) {
    const projections = new Projections(options);
    const { settle, pageSize, restMs, pollEveryMs, logger } = options;
    const { leaseEveryMs, retryMs } = { ...SOON, ...options };
    super({
      ...projections.following,
      handlers: projections.handlers,
      ...(settle && { settle }),
      ...(pageSize !== undefined && { pageSize }),
      ...(restMs !== undefined && { restMs }),
      ...(pollEveryMs !== undefined && { pollEveryMs }),
      ...(logger && { logger }),
      leaseEveryMs,
      retryMs,
    });
    this.projections = projections;
  }

  status(): ReturnType<Projections['status']> {
    return this.projections.status(this);
  }
}

export type FollowedPoliciesOptions = PolicyRunnerOptions &
  Pick<Timing, 'settle' | 'restMs' | 'leaseEveryMs' | 'locks'>;

/** The policies of one process, and their follower. */
export class FollowedPolicies extends PolicyRunner {
  private readonly follower: Follower<Page>;

  constructor(pool: pg.Pool, options: FollowedPoliciesOptions) {
    super({ retryEveryMs: 20, ...options });
    const { log, decode, settle, restMs, locks, leaseEveryMs = 20 } = options;
    this.follower = followedAlone(this, {
      pool,
      log,
      decode,
      leaseEveryMs,
      ...(settle && { settle }),
      ...(restMs !== undefined && { restMs }),
      ...(locks && { locks }),
    });
  }

  get role(): PolicyStatus['role'] {
    return this.follower.leads(this.name) ? 'leader' : 'standby';
  }

  get lastError(): string | null {
    return this.outage ?? this.follower.problemOf(this.name);
  }

  override start(): void {
    super.start();
    this.follower.start();
  }

  override async stop(): Promise<void> {
    await this.follower.stop();
    await super.stop();
  }
}
