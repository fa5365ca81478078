import type { FastifyReply } from 'fastify';
import type { Scope } from '../../domain/scope.js';
import type { CommandMeta } from '../../event-log/envelope.js';
import type { Position } from '../../event-log/event-log.js';
import type { Logger } from '../../foundation/logger.js';
import { newId } from '../../foundation/world.js';
import type {
  ClaimedKey,
  KeptAnswer,
  KeyedRequest,
  Named,
} from '../../idempotency/idempotency-key.js';
import type { KeptAnswers } from '../../idempotency/kept-answers.js';
import type { KeyedNames } from '../../privacy/keyed-names.js';
import { ApiError, isErrorJson, unavailable, type ApiErrorCode } from '../edge/api-error.js';
import type { Call } from '../credentials/call.js';
import { noteFacts } from '../edge/request-facts.js';
import { completedError } from './error-message.js';
import { keyedRequest } from './keyed-request.js';
import type { OwnWrites } from './own-writes.js';

/** The result of a write. */
export interface WriteAnswer {
  readonly status: number;
  readonly body: unknown;
  /** Default: nothing is recorded. */
  readonly position?: Position | null;
  /** The subjects of the body; undefined: none. */
  readonly named?: readonly Named[];
  /** The events trigger a policy. Default: they do not. */
  readonly triggersPolicy?: boolean;
  /** The effect was already recorded. Default: it was not. */
  readonly replayed?: boolean;
}

/** Statuses of decisions, which are kept as answers. Other refusals leave the key free. */
const DECIDED: ReadonlySet<number> = new Set([400, 403, 404, 409]);

/**
 * Refusals that precede the decision although they share a status with it: of fields that a write
 * token may not write, and of a document of a faulty form.
 */
const BEFORE_DECISION: ReadonlySet<ApiErrorCode> = new Set(['FORBIDDEN', 'VALIDATION_FAILED']);

const isDecided = (error: ApiError): boolean =>
  DECIDED.has(error.getStatus()) && !BEFORE_DECISION.has(error.code);

const isRefusal = (error: unknown): error is ApiError =>
  error instanceof ApiError && error.getStatus() < 500;

/** The frame of every write: command envelope, idempotency key, position, read-your-writes. */
export class Writes {
  constructor(
    private readonly answers: KeptAnswers,
    private readonly ownWrites: OwnWrites,
    private readonly names: KeyedNames,
    private readonly logger: Pick<Logger, 'warn'>,
  ) {}

  /**
   * Runs the write once per idempotency key and answers. `write` throws {ApiError} for a refusal.
   * @param check of the caller's rights, which precedes the look-up of the key. A call without a
   * key is checked by `write` alone.
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

  /** A kept answer whose effect the log has lost is dropped: the request is executed again. */
  private async claim(keyed: KeyedRequest): Promise<ClaimedKey> {
    const claimed = await this.answers.claim(keyed);
    if (!('answer' in claimed) || claimed.answer.position === null) return claimed;
    if (!(await this.ownWrites.isBeyondLog(claimed.answer.position))) return claimed;
    await this.answers.forgetAnswer(keyed);
    return this.answers.claim(keyed);
  }

  /** A recorded effect may be older than an erasure. */
  private async withoutForgotten(answer: WriteAnswer): Promise<WriteAnswer> {
    if (!answer.replayed) return answer;
    return { ...answer, body: await this.answers.withoutForgotten(answer.body, answer.named) };
  }

  /**
   * Keeps a decided refusal as the answer of the key. A refusal before the decision leaves the key
   * free; after an outage, which may have recorded the effect, it stays that of this request.
   * @throws {ApiError} 503 when the refusal could not be kept: it records no event, so that the
   * request, executed again, might have another outcome than the client received.
   */
  private async keepRefusal(keyed: KeyedRequest, error: unknown): Promise<void> {
    if (!isRefusal(error)) this.answers.abandon(keyed);
    else if (!isDecided(error)) await this.answers.drop(keyed);
    else {
      const refusal = { status: error.getStatus(), body: error.body, position: null };
      if (!(await this.keep(keyed, refusal))) throw unavailable();
    }
  }

  /**
   * False when the answer could not be stored. The effect is recorded anyway, and the client
   * receives its answer.
   */
  private async keep(
    keyed: KeyedRequest,
    answer: KeptAnswer,
    named?: readonly Named[],
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
    this.ownWrites.note(scope, position, triggersPolicy);
    if (position !== null) void reply.header('Ledger-Position', position);
    if (replayed) void reply.header('Idempotency-Replayed', 'true');
    void reply.status(status);
    return body;
  }

  private async sendAgain(
    reply: FastifyReply,
    scope: Scope,
    { status, body, ...kept }: KeptAnswer,
  ): Promise<unknown> {
    const position = await this.ownWrites.inThisLog(kept.position);
    // The write may have gone through another service: the next read here must include it, and the
    // reactions to it.
    this.ownWrites.note(scope, position, true);
    if (position !== null) void reply.header('Ledger-Position', position);
    void reply.header('Idempotency-Replayed', 'true').status(status);
    if (!isErrorJson(body)) return body;
    noteFacts(reply.request, { code: body.apiErrorCode });
    return completedError(body, reply.request);
  }
}
