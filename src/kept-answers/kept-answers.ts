import { setTimeout as delay } from 'node:timers/promises';
import type { Pool } from 'pg';
import type { ProcessPresence } from '../postgres/process-presence.js';
import type { SubjectKeys } from '../privacy/subject-keys.js';
import { AnswerRows } from './answer-rows.js';
import { AnswerSeal } from './answer-seal.js';
import {
  nameOf,
  type ClaimedKey,
  type KeptAnswer,
  type KeyedRequest,
  type Named,
} from './idempotency-key.js';

/** How often a claim that could not be given back, the database being away, is tried again. */
const RELEASE_EVERY_MS = 500;

/**
 * Runs a request once per idempotency key, and remembers its answer. It is a memory for answers
 * only: that an effect happens once is promised by the log, where the key rides with the events. So
 * a process may die at any point: whoever comes with the key next finds its claim abandoned, runs
 * the request again, and the log answers with the effect that stands there.
 *
 * A database that is away can leave a claim behind, too: made or given back by a statement whose
 * answer never came. So this process knows which requests it really runs. A claim of its own
 * without one is taken over at once; for others it is given back as soon as the database answers
 * again.
 */
export class KeptAnswers {
  private readonly rows: AnswerRows;
  private readonly seal: AnswerSeal;
  /** Requests that run here now, by name. */
  private readonly running = new Set<string>();
  /**
   * Claims of requests that ended without an answer, and how often they are still to be given back.
   */
  private readonly unreleased = new Map<
    string,
    { readonly request: KeyedRequest; times: number }
  >();
  private releasing = false;

  constructor(pool: Pool, presence: ProcessPresence, sealingKey: Buffer, subjects: SubjectKeys) {
    this.rows = new AnswerRows(pool, presence);
    this.seal = new AnswerSeal(sealingKey, subjects);
  }

  /**
   * The kept answer, or else what the caller is to run the request as; it then has to `keep` its
   * answer or `abandon` it.
   * @throws what the database throws while it is away; then nothing has to be given back.
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
    // Abandoned between the two statements: the client's next try claims it.
    if (!row) return { refused: 'REQUEST_IN_PROGRESS' };
    if (row.fingerprint !== request.fingerprint) return { refused: 'IDEMPOTENCY_KEY_REUSED' };
    if (row.answer === null) return { refused: 'REQUEST_IN_PROGRESS' };
    return { answer: await this.seal.open(request, row.answer) };
  }

  /** @param logPosition how far the log was, as a number; left out: not known. */
  async keep(
    request: KeyedRequest,
    answer: KeptAnswer,
    named: readonly Named[] = [],
    logPosition?: bigint,
  ): Promise<void> {
    await this.rows.keep(request, await this.seal.seal(request, answer, named), logPosition);
    this.running.delete(nameOf(request));
  }

  /** Forgets an answer whose effect is in no log any more. */
  forgetAnswer(request: KeyedRequest): Promise<void> {
    return this.rows.forgetAnswer(request);
  }

  /** See `AnswerSeal`. */
  withoutForgotten(body: unknown, named: readonly Named[] = []): Promise<unknown> {
    return this.seal.withoutForgotten(body, named);
  }

  /**
   * The log knows another request by this key, and this one took effect nowhere: its claim goes, so
   * that the other one is answered again. Never fails.
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
   * The request came to no answer that is worth keeping (an outage): the next try runs it again.
   * Returns at once, and never fails.
   */
  abandon(request: KeyedRequest): void {
    const name = nameOf(request);
    this.running.delete(name);
    // Twice: a statement whose answer never came may be carried out after the first time.
    this.unreleased.set(name, { request, times: 2 });
    if (!this.releasing) void this.releaseAll();
  }

  /** Until all are given back or nobody is there any more to give them to. Never rejects. */
  private async releaseAll(): Promise<void> {
    this.releasing = true;
    while (this.unreleased.size > 0 && this.rows.isOpen) {
      for (const [name, entry] of [...this.unreleased]) {
        // Taken up again meanwhile: that request answers for the claim now.
        if (this.running.has(name)) entry.times = 0;
        else if (await this.isReleased(entry.request)) entry.times -= 1;
        else break;
        if (entry.times === 0 && this.unreleased.get(name) === entry) this.unreleased.delete(name);
      }
      // Unreferenced: a process that ends gives back everything that it held.
      if (this.unreleased.size > 0) await delay(RELEASE_EVERY_MS, undefined, { ref: false });
    }
    this.releasing = false;
  }

  /** False: not yet, the database is away. */
  private async isReleased(request: KeyedRequest): Promise<boolean> {
    try {
      await this.rows.release(request);
      return true;
    } catch {
      return false;
    }
  }
}
