import type { Sealer } from '../privacy/sealed-bytes.js';
import type { SubjectKeys } from '../privacy/subject-keys.js';
import type { AnswerRows } from './answer-rows.js';
import { AnswerSeal } from './answer-seal.js';
import {
  requestName,
  type ClaimedKey,
  type StoredAnswer,
  type KeyedRequest,
  type PersonalMembers,
} from './idempotency-key.js';
import { pause } from '../foundation/pause.js';
import { elapsed } from '../foundation/world.js';

/** Retry interval for releasing claims while the database is unavailable. */
const RELEASE_EVERY_MS = 500;
/**
 * Times of repeated releases: a statement whose answer was lost may be executed after a release,
 * but not after the last of these times, which is beyond the statement timeout.
 */
const RELEASE_AFTER_MS = [0, RELEASE_EVERY_MS, 15_000] as const;

/** A claim of a request that ended without an answer, and its release times. */
interface AbandonedClaim {
  readonly request: KeyedRequest;
  /** Monotonic milliseconds, ascending. */
  due: readonly number[];
}

/**
 * Runs a request once per idempotency key, and stores its answer. The log guarantees that an effect
 * happens once, since events carry the key: after a crash the next request with the key finds the
 * abandoned claim and runs again, and the log answers with the recorded effect.
 * An outage of the database can leave a claim too, when the answer of a statement was lost.
 * Therefore this process tracks its running requests: it takes over its own claim without a running
 * request immediately, and releases it for other processes as soon as the database answers.
 */
export class StoredAnswers {
  private readonly seal: AnswerSeal;
  /** Requests that run in this process, by name. */
  private readonly running = new Set<string>();
  private readonly unreleased = new Map<string, AbandonedClaim>();
  private releasing = false;

  constructor(
    private readonly rows: AnswerRows,
    sealer: Sealer,
    subjects: SubjectKeys,
  ) {
    this.seal = new AnswerSeal(sealer, subjects);
  }

  /**
   * The stored answer, or the command id for running the request, after which the caller must call
   * `keep` or `abandon`.
   * @throws the database's errors while it is unavailable; then there is nothing to release.
   */
  async claim(request: KeyedRequest): Promise<ClaimedKey> {
    const name = requestName(request);
    if (this.running.has(name)) return this.known(request);
    this.running.add(name);
    let claimed: ClaimedKey | undefined;
    try {
      claimed = await this.rows.take(request);
    } catch (error) {
      this.abandon(request);
      throw error;
    }
    if (claimed) return claimed;
    this.running.delete(name);
    return this.known(request);
  }

  private async known(request: KeyedRequest): Promise<ClaimedKey> {
    const row = await this.rows.find(request);
    // Released between the two statements: the client's next try claims it.
    if (!row) return { refused: 'REQUEST_IN_PROGRESS' };
    if (row.fingerprint !== request.fingerprint) return { refused: 'IDEMPOTENCY_KEY_REUSED' };
    if (row.answer === null) return { refused: 'REQUEST_IN_PROGRESS' };
    return { answer: await this.seal.open(request, row.answer) };
  }

  /** @param logPosition the log's position as a number; undefined: unknown. */
  async keep(
    request: KeyedRequest,
    answer: StoredAnswer,
    named: readonly PersonalMembers[] = [],
    logPosition?: bigint,
  ): Promise<void> {
    await this.rows.keep(request, await this.seal.seal(request, answer, named), logPosition);
    this.running.delete(requestName(request));
  }

  /** Deletes an answer whose effect the log has lost. */
  forgetAnswer(request: KeyedRequest): Promise<void> {
    return this.rows.forgetAnswer(request);
  }

  /** See `AnswerSeal`. */
  withoutForgotten(body: unknown, named: readonly PersonalMembers[] = []): Promise<unknown> {
    return this.seal.withoutForgotten(body, named);
  }

  /** The log has another request under the key, which can then be answered. Never fails. */
  async drop(request: KeyedRequest): Promise<void> {
    try {
      await this.rows.drop(request);
      this.running.delete(requestName(request));
    } catch {
      this.abandon(request);
    }
  }

  /** After an outage: releases the claim in the background. Never fails. */
  abandon(request: KeyedRequest): void {
    const name = requestName(request);
    this.running.delete(name);
    const now = elapsed();
    this.unreleased.set(name, { request, due: RELEASE_AFTER_MS.map((ms) => now + ms) });
    if (!this.releasing) void this.releaseAll();
  }

  /** Until all are released or this process's presence has ended. Never rejects. */
  private async releaseAll(): Promise<void> {
    this.releasing = true;
    while (this.unreleased.size > 0 && this.rows.isOpen) {
      for (const [name, entry] of [...this.unreleased]) {
        const now = elapsed();
        // A running request with this key needs the claim.
        if (this.running.has(name) || (entry.due[0] ?? 0) > now) continue;
        if (!(await this.isReleased(entry.request))) break;
        entry.due = entry.due.filter((at) => at > now);
        if (entry.due.length === 0 && this.unreleased.get(name) === entry)
          this.unreleased.delete(name);
      }
      // Unreferenced: at its end a process releases all of its claims anyway.
      if (this.unreleased.size > 0)
        await pause(RELEASE_EVERY_MS, undefined, { keepsProcess: false });
    }
    this.releasing = false;
  }

  /** False: the database is unavailable. */
  private async isReleased(request: KeyedRequest): Promise<boolean> {
    try {
      await this.rows.release(request);
      return true;
    } catch {
      return false;
    }
  }
}
