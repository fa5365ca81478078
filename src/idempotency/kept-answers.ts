import type { Sealer } from '../privacy/sealed-bytes.js';
import type { SubjectKeys } from '../privacy/subject-keys.js';
import type { AnswerRows } from './answer-rows.js';
import { AnswerSeal } from './answer-seal.js';
import {
  nameOf,
  type ClaimedKey,
  type KeptAnswer,
  type KeyedRequest,
  type Named,
} from './idempotency-key.js';
import { pause } from '../foundation/pause.js';
import { elapsed } from '../foundation/world.js';

/** Retry interval for releasing claims while the database is unavailable. */
const RELEASE_EVERY_MS = 500;
/**
 * A statement whose answer was lost may be executed after a release. None is executed after the
 * last of these times, beyond the default limit of a statement.
 */
const RELEASE_AFTER_MS = [0, RELEASE_EVERY_MS, 15_000] as const;

/** A claim of a request that ended without an answer, and when it is still to be released. */
interface Unreleased {
  readonly request: KeyedRequest;
  /** By the clock that never goes back, in ascending order. */
  due: readonly number[];
}

/**
 * Runs a request once per idempotency key, and stores its answer. Only answers are stored here: the
 * log guarantees that an effect happens once, since events carry the key. So a process may die at
 * any point: the next request with the key finds the abandoned claim and runs again, and the log
 * answers with the recorded effect.
 *
 * An unavailable database can leave a claim behind, too: the answer of a statement that made or
 * released it was lost. Therefore this process knows which requests run in it. A claim of its own
 * without a running request is taken over at once; other processes see it released as soon as the
 * database answers.
 */
export class KeptAnswers {
  private readonly seal: AnswerSeal;
  /** Requests that run in this process, by name. */
  private readonly running = new Set<string>();
  private readonly unreleased = new Map<string, Unreleased>();
  private releasing = false;

  constructor(
    private readonly rows: AnswerRows,
    sealer: Sealer,
    subjects: SubjectKeys,
  ) {
    this.seal = new AnswerSeal(sealer, subjects);
  }

  /**
   * The stored answer, or the command id under which the caller runs the request; the caller must
   * then call `keep` or `abandon`.
   * @throws the database's errors while it is unavailable; then there is nothing to release.
   */
  async claim(request: KeyedRequest): Promise<ClaimedKey> {
    const name = nameOf(request);
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
    answer: KeptAnswer,
    named: readonly Named[] = [],
    logPosition?: bigint,
  ): Promise<void> {
    await this.rows.keep(request, await this.seal.seal(request, answer, named), logPosition);
    this.running.delete(nameOf(request));
  }

  /** Deletes an answer whose effect the log has lost. */
  forgetAnswer(request: KeyedRequest): Promise<void> {
    return this.rows.forgetAnswer(request);
  }

  /** See `AnswerSeal`. */
  withoutForgotten(body: unknown, named: readonly Named[] = []): Promise<unknown> {
    return this.seal.withoutForgotten(body, named);
  }

  /**
   * The log has another request under this key, and this one took no effect: its claim is deleted,
   * so that the other one is answered again. Never fails.
   */
  async drop(request: KeyedRequest): Promise<void> {
    try {
      await this.rows.drop(request);
      this.running.delete(nameOf(request));
    } catch {
      this.abandon(request);
    }
  }

  /**
   * The request ended without an answer to store (an outage): the next try runs it again. Returns
   * at once, and never fails.
   */
  abandon(request: KeyedRequest): void {
    const name = nameOf(request);
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
        // Asked again in the meantime: that request needs the claim, and may end without it.
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
