import type { FastifyReply } from 'fastify';
import type { Scope } from '../../domain/scope.js';
import type { CommandMeta } from '../../event-log/envelope.js';
import type { Position } from '../../event-log/event-log.js';
import type { Logger } from '../../foundation/logger.js';
import { newId } from '../../foundation/world.js';
import type {
  ClaimedKey,
  StoredAnswer,
  KeyedRequest,
  PersonalMembers,
} from '../../idempotency/idempotency-key.js';
import type { StoredAnswers } from '../../idempotency/stored-answers.js';
import type { KeyedNames } from '../../privacy/keyed-names.js';
import { ApiError, isErrorJson, unavailable, type ApiErrorCode } from '../edge/api-error.js';
import type { Call } from '../credentials/call.js';
import { addFacts } from '../edge/request-facts.js';
import { completedError } from './error-message.js';
import { keyedRequest } from './keyed-request.js';
import type { OwnWrites } from './own-writes.js';

export interface WriteAnswer {
  readonly status: number;
  readonly body: unknown;
  /** Default: nothing is recorded. */
  readonly position?: Position | null;
  /** The subjects in the body. */
  readonly named?: readonly PersonalMembers[];
  readonly triggersPolicy?: boolean;
  /** The effect was already recorded. */
  readonly replayed?: boolean;
}

/** Statuses of decisions, which are stored as answers; other refusals leave the key unused. */
const STORED_STATUSES: ReadonlySet<number> = new Set([400, 403, 404, 409]);

/**
 * Refusals before the decision that share a status with it: fields of a token, faulty documents.
 */
const BEFORE_DECISION: ReadonlySet<ApiErrorCode> = new Set(['FORBIDDEN', 'VALIDATION_FAILED']);

const isStored = (error: ApiError): boolean =>
  STORED_STATUSES.has(error.getStatus()) && !BEFORE_DECISION.has(error.code);

const isRefusal = (error: unknown): error is ApiError =>
  error instanceof ApiError && error.getStatus() < 500;

/** The frame of all writes: envelope, idempotency key, position, read-your-writes. */
export class Writes {
  constructor(
    private readonly answers: StoredAnswers,
    private readonly ownWrites: OwnWrites,
    private readonly names: KeyedNames,
    private readonly logger: Pick<Logger, 'warn'>,
  ) {}

  /**
   * Runs the write once per idempotency key and answers. `write` throws {ApiError} for a refusal.
   * @param check the caller's rights, before the key is looked up; without a key, `write` checks.
   */
  async answer(
    call: Call,
    write: (meta: CommandMeta) => Promise<WriteAnswer>,
    check?: (meta: CommandMeta) => Promise<void>,
  ): Promise<unknown> {
    const { id, scope, actor, reply } = call;
    const keyed = keyedRequest(call, this.names);
    const cause = { scope, correlationId: id, causationId: id, actor };
    const unkeyed: CommandMeta = { ...cause, commandId: newId(), idempotency: null };
    if (!keyed) return this.send(reply, unkeyed, await write(unkeyed));
    await check?.(unkeyed);
    const claimed = await this.claim(keyed);
    if ('refused' in claimed) throw new ApiError(claimed.refused);
    if ('answer' in claimed) return this.sendAgain(reply, scope, claimed.answer);
    const { key, fingerprint } = keyed;
    const meta: CommandMeta = { ...cause, ...claimed, idempotency: { key, fingerprint } };
    let answer: WriteAnswer;
    try {
      answer = await this.withoutForgotten(await write(meta));
    } catch (error) {
      await this.keepRefusal(keyed, error);
      throw error;
    }
    const { status, body, position = null, named } = answer;
    await this.keep(keyed, { status, body, position }, named);
    return this.send(reply, meta, answer);
  }

  /** Drops a stored answer whose effect the log has lost, so that the request is repeated. */
  private async claim(keyed: KeyedRequest): Promise<ClaimedKey> {
    const claimed = await this.answers.claim(keyed);
    if (!('answer' in claimed) || claimed.answer.position === null) return claimed;
    if (!(await this.ownWrites.isBeyondLog(claimed.answer.position))) return claimed;
    await this.answers.forgetAnswer(keyed);
    return this.answers.claim(keyed);
  }

  /** A recorded effect may precede an erasure. */
  private async withoutForgotten(answer: WriteAnswer): Promise<WriteAnswer> {
    if (!answer.replayed) return answer;
    return { ...answer, body: await this.answers.withoutForgotten(answer.body, answer.named) };
  }

  /**
   * Stores a decided refusal as the key's answer. An earlier refusal leaves the key unused; after
   * an outage, which may have recorded the effect, the key stays bound to the request.
   * @throws {ApiError} 503 if the refusal could not be stored: it records no event, so a repetition
   * could have another outcome.
   */
  private async keepRefusal(keyed: KeyedRequest, error: unknown): Promise<void> {
    if (!isRefusal(error)) this.answers.abandon(keyed);
    else if (!isStored(error)) await this.answers.drop(keyed);
    else {
      const refusal = { status: error.getStatus(), body: error.body, position: null };
      if (!(await this.keep(keyed, refusal))) throw unavailable();
    }
  }

  /**
   * False: the answer could not be stored. The effect is recorded, and the client gets it anyway.
   */
  private async keep(
    keyed: KeyedRequest,
    answer: StoredAnswer,
    named?: readonly PersonalMembers[],
  ): Promise<boolean> {
    try {
      await this.answers.keep(keyed, answer, named, this.ownWrites.order(answer.position));
      return true;
    } catch {
      this.logger.warn({}, 'an answer could not be stored for its idempotency key');
      this.answers.abandon(keyed);
      return false;
    }
  }

  private send(
    reply: FastifyReply,
    { scope }: CommandMeta,
    { status, body, position = null, triggersPolicy = false, replayed }: WriteAnswer,
  ): unknown {
    this.ownWrites.record(scope, position, triggersPolicy);
    if (position !== null) void reply.header('Ledger-Position', position);
    if (replayed) void reply.header('Idempotency-Replayed', 'true');
    void reply.status(status);
    return body;
  }

  private async sendAgain(
    reply: FastifyReply,
    scope: Scope,
    { status, body, ...kept }: StoredAnswer,
  ): Promise<unknown> {
    const position = await this.ownWrites.translated(kept.position);
    // Another service may have recorded the write: the next read must include it and its reactions.
    this.ownWrites.record(scope, position, true);
    if (position !== null) void reply.header('Ledger-Position', position);
    void reply.header('Idempotency-Replayed', 'true').status(status);
    if (!isErrorJson(body)) return body;
    addFacts(reply.request, { code: body.apiErrorCode });
    return completedError(body, reply.request);
  }
}
