import type { ChainSealer } from '../chain/chain-sealer.js';
import type { Core } from '../stores/core.js';
import { CLOCK_RUNBOOK, isAhead, msAhead } from '../event-log/clock.js';
import { durationText } from '../foundation/duration.js';
import { EventLogUnavailable, type LogCheck, type Position } from '../event-log/event-log.js';
import { withTimeout, TimeoutError } from '../foundation/timeout.js';
import { pause } from '../foundation/pause.js';
import type { WorkLoop } from '../foundation/work-loop.js';
import type { HealthCheck, Readiness, ReadinessProbe } from '../http/health/readiness.js';
import type { MailSender } from '../mails/deliveries/mail-sender.js';
import type { WaitingMails } from '../mails/deliveries/shown-mails.js';
import type { PolicyRunner } from '../reacting/policy-runner.js';
import { ping } from '../postgres/database.js';
import { WriteProbe, WritesRefused } from '../postgres/write-probe.js';
import type { Follower } from '../following/follower.js';
import type { Projections } from '../projecting/following/projections.js';
import type { Page } from '../projecting/page.js';
import type { HandlerStatus, Progress } from '../following/handler-status.js';
import type { AnnouncementsHandler } from '../webhooks/deliveries/announcements-handler.js';
import type { WebhookSender } from '../webhooks/deliveries/webhook-sender.js';
import type { LiveGenerations } from '../projecting/generations/live-generations.js';
import type { PaymentsWork } from '../payments/payments-work.js';
import { FollowerWait, type FollowerPositions } from './follower-wait.js';
import { sharedCall } from '../foundation/single-flight.js';

const ANSWER_WITHIN_MS = 2_000;
const PAGE_WITHIN_MS = 1_500;
const RETRY_MS = 50;
/** Interval of checks for skipped followers. */
const RECHECK_MS = 1_000;
/** The service is degraded when a follower or reaction makes no progress for this time. */
const STALLED_SECONDS_DEGRADED = 10;

/** The followers and workers for health page and metrics. */
export interface RunningFollowers {
  readonly follower: Follower<Page>;
  readonly projections: Projections;
  readonly policies: PolicyRunner;
  readonly sealer: ChainSealer;
  readonly webhooks: { readonly follower: AnnouncementsHandler; readonly sender: WebhookSender };
  /** Undefined: no mails are sent. */
  readonly mails: RunningMails | undefined;
  readonly payments: PaymentsWork;
}

interface RunningMails {
  readonly sender: MailSender;
  /** Over all processes. @throws while the database is unavailable. */
  waiting(): Promise<WaitingMails>;
}

/**
 * Readiness: the stores answer, the database accepts writes, and the read models have caught up
 * once. Degraded: background work makes no progress.
 */
export class ServiceReadiness implements ReadinessProbe {
  private readonly stopping = new AbortController();
  private readonly writes: WriteProbe;
  private caughtUp = false;
  private given: Position | undefined;

  constructor(
    private readonly core: Pick<Core, 'pool' | 'log' | 'followedLog'>,
    private readonly generations: LiveGenerations,
    private readonly followers: RunningFollowers,
    private readonly names: readonly string[],
  ) {
    this.writes = new WriteProbe(core.pool, ANSWER_WITHIN_MS);
  }

  /** The head at the start, while stalled followers do not include it; reads no longer wait. */
  get skippedHead(): Position | undefined {
    return this.given;
  }

  /**
   * A client must find its earlier writes after a start, so read models and reactions must reach
   * the head at the start, as long as they move on.
   */
  async catchUp(): Promise<void> {
    const { signal } = this.stopping;
    let head: string | null | undefined;
    let live: string | undefined;
    const followers = this.awaited();
    const awaited = new FollowerWait(followers, (a, b) => this.core.log.compare(a, b));
    this.given = undefined;
    while (!this.caughtUp && !signal.aborted) {
      const liveNow = await this.core.followedLog.liveGenerations().catch(() => undefined);
      // Other generations are live now, maybe of a log with another head.
      if (liveNow !== live) head = undefined;
      live = liveNow;
      head = await this.limitedToLog(head);
      this.caughtUp =
        live !== undefined &&
        (head === null || (head !== undefined && (await this.isOver(head, awaited)))) &&
        (await this.shown(live));
      if (!this.caughtUp) await pause(RETRY_MS, signal);
    }
    if (this.given !== undefined) void this.watchSkipped(followers, this.given);
  }

  private awaited(): FollowerPositions {
    const { follower, policies } = this.followers;
    return {
      reach: async (position, withinMs) => {
        const waits = [
          policies.waitFor(position, withinMs),
          follower.waitFor(position, this.names, withinMs),
        ];
        return (await Promise.all(waits)).every((reached) => reached);
      },
      at: async () => {
        const [models, reacted] = await Promise.all([
          follower.positions(this.names),
          policies.checkpoint(),
        ]);
        return new Map([...models, ['policies', reacted ?? undefined]]);
      },
    };
  }

  private async isOver(head: Position, awaited: FollowerWait): Promise<boolean> {
    const looked = await awaited.look(head, ANSWER_WITHIN_MS);
    this.given = looked === 'still' ? head : undefined;
    return looked !== 'moving';
  }

  /** Ends when they have caught up, or a new wait begins. */
  private async watchSkipped(followers: FollowerPositions, given: Position): Promise<void> {
    const { signal } = this.stopping;
    const { log } = this.core;
    for (let head: Position | null | undefined = given; !signal.aborted;) {
      await pause(RECHECK_MS, signal);
      if (this.given !== given) return;
      head = await this.limitedToLog(head);
      const at = await followers.at().catch(() => undefined);
      const positions = at === undefined ? [undefined] : [...at.values()];
      if (positions.every((position) => log.compare(position, head ?? undefined) >= 0)) {
        this.given = undefined;
        return;
      }
    }
  }

  /**
   * The head at the start, or the current head after the log lost events, which can never be
   * reached. Undefined: unknown.
   */
  private async limitedToLog(head: string | null | undefined): Promise<string | null | undefined> {
    const { log } = this.core;
    try {
      const headNow = (await log.head()) ?? null;
      return head === undefined || log.compare(headNow ?? undefined, head ?? undefined) < 0
        ? headNow
        : head;
    } catch {
      return head;
    }
  }

  /** After a replacement of the read models, shows the new ones once they have caught up. */
  restartCatchUp(): void {
    if (!this.caughtUp) return;
    this.caughtUp = false;
    void this.catchUp();
  }

  /** Allows reads of rebuilt read models. False: some are missing. */
  private async shown(live: string): Promise<boolean> {
    try {
      await this.core.followedLog.markRebuilt(live);
      await this.generations.refresh();
    } catch {
      return false;
    }
    const { generations } = this;
    return (
      generations.areShown &&
      this.names.every((name) => generations.generationOf(name) !== undefined)
    );
  }

  stop(): void {
    this.stopping.abort();
  }

  async check(): Promise<Readiness> {
    if (!this.generations.areShown) this.restartCatchUp();
    const { policies, sealer, webhooks, mails, payments } = this.followers;
    const newest = this.core.log.check();
    const [postgres, log, clock, projected, reactions, chain, announced, mailCheck, paying] =
      await Promise.all([
        this.guarded(async () => {
          await this.writes.check();
          return { ok: true };
        }),
        this.guarded(async () => {
          const { store, head } = await newest;
          return { ok: true, store, head: head ?? null };
        }),
        this.guarded(async () => clockHealth(await newest)),
        this.projectionChecks(),
        this.handlerCheck(policies),
        this.handlerCheck(sealer),
        this.handlerCheck(webhooks.follower),
        mails && this.guarded(() => mailHealth(mails)),
        this.guarded(() => paymentsHealth(payments)),
      ]);
    const projections = projected ?? this.unknownProjections(postgres, log);
    const sender = sending(webhooks.sender.worker);
    const followers = {
      ...projections,
      policies: reactions,
      chain,
      webhooks: announced,
      'webhook sender': { ok: sender.lastError === null, ...sender },
      ...(mailCheck && { mails: mailCheck }),
      payments: paying,
    };
    const checks = { postgres, 'event-log': log, clock, ...followers };
    const degraded = Object.values(followers).some(isStalled);
    const ready = postgres.ok && log.ok && clock.ok && this.caughtUp;
    return { ready, degraded, checks };
  }

  private handlerCheck(handler: {
    status(
      now: number,
      follower: Progress,
    ): Promise<HandlerStatus & { readonly unsentSeconds?: number }>;
  }): Promise<HealthCheck> {
    return this.guarded(async () => {
      const status = await handler.status(Date.now(), this.followers.follower);
      const isSent = (status.unsentSeconds ?? 0) < STALLED_SECONDS_DEGRADED;
      return { ok: status.lastError === null && isSent, ...status };
    });
  }

  private async projectionChecks(): Promise<Record<string, HealthCheck> | undefined> {
    try {
      const status = await withTimeout(
        this.followers.projections.status(this.followers.follower),
        ANSWER_WITHIN_MS,
      );
      return Object.fromEntries(
        status.map(({ projection, parkedBecause, head: _, updatedAt: __, ...row }) => [
          `projection ${projection}`,
          {
            ...row,
            ok: row.lastError === null && row.stillSeconds < STALLED_SECONDS_DEGRADED,
            lastError: row.lastError ?? parkedBecause,
          },
        ]),
      );
    } catch {
      return undefined;
    }
  }

  /** The state of a read model needs both stores; their own checks name the one that failed. */
  private unknownProjections(postgres: HealthCheck, log: HealthCheck): Record<string, HealthCheck> {
    const lastError = !postgres.ok
      ? 'the database is away or refuses to write'
      : !log.ok
        ? 'the event log is away'
        : 'no answer in time';
    return Object.fromEntries(
      this.names.map((name) => [`projection ${name}`, { ok: false, lastError }]),
    );
  }

  private async guarded(check: () => Promise<HealthCheck>): Promise<HealthCheck> {
    try {
      return await withTimeout(check(), ANSWER_WITHIN_MS);
    } catch (error) {
      // These messages contain no values and help the operator.
      const isPlain = [EventLogUnavailable, TimeoutError, WritesRefused].some(
        (kind) => error instanceof kind,
      );
      return {
        ok: false,
        ...(isPlain && error instanceof Error ? { problem: error.message } : {}),
      };
    }
  }
}

function clockHealth(newest: LogCheck): HealthCheck {
  const aheadSeconds = msAhead(newest) / 1_000;
  if (!isAhead(newest)) return { ok: true, aheadSeconds };
  const ahead = durationText(msAhead(newest));
  const problem = `the newest entry of the log is ${ahead} ahead of the clock: ${CLOCK_RUNBOOK}`;
  return { ok: false, aheadSeconds, problem };
}

const sending = ({ loop }: { readonly loop: WorkLoop }) => {
  const { runs: sends, ...status } = loop.status();
  return { sends, ...status };
};

async function mailHealth(mails: RunningMails): Promise<HealthCheck> {
  const sender = sending(mails.sender.worker);
  const waiting = await mails.waiting().catch(() => undefined);
  const isSent = waiting !== undefined && waiting.unsentSeconds < STALLED_SECONDS_DEGRADED;
  return { ok: sender.lastError === null && isSent, ...sender, ...waiting };
}

/** Failures of the provider appear in the figures; they do not degrade this service. */
async function paymentsHealth(payments: PaymentsWork): Promise<HealthCheck> {
  const { pusher, syncs } = payments;
  const [pushing, walking] = [pusher.worker.loop.status(), syncs.worker.loop.status()];
  const lastError = pushing.lastError ?? walking.lastError;
  const stillSeconds = Math.max(pushing.stillSeconds, walking.stillSeconds);
  const read = await payments.figures().catch(() => undefined);
  const ok = lastError === null && read !== undefined;
  return { ok, runs: walking.runs, stillSeconds, lastError, ...read };
}

/** A check without an answer counts as well. */
function isStalled(check: HealthCheck): boolean {
  const { ok, stillSeconds, oldestSeconds = 0, unsentSeconds = 0 } = check;
  if (stillSeconds === undefined) return !ok;
  const seconds = [stillSeconds, oldestSeconds, unsentSeconds].map(Number);
  return Math.max(...seconds) >= STALLED_SECONDS_DEGRADED;
}

/**
 * Checks that the database accepts writes and the log answers in time. Concurrent callers share one
 * check. Never rejects.
 */
export function storesAnswerIn({ pool, log }: Pick<Core, 'pool' | 'log'>): () => Promise<boolean> {
  const writes = new WriteProbe(pool, ANSWER_WITHIN_MS);
  return sharedCheck(() => Promise.all([writes.check(), log.check()]), ANSWER_WITHIN_MS);
}

/** Checks reads from the database in time, for pages. */
export const databaseAnswersIn = ({ pool }: Pick<Core, 'pool'>): (() => Promise<boolean>) =>
  sharedCheck(() => ping(pool, PAGE_WITHIN_MS), PAGE_WITHIN_MS);

const sharedCheck = (check: () => Promise<unknown>, withinMs: number): (() => Promise<boolean>) =>
  sharedCall(() =>
    withTimeout(check(), withinMs).then(
      () => true,
      () => false,
    ),
  );
