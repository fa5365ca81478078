import type { FastifyReply } from 'fastify';
import * as z from 'zod';
import type { Operator } from '../../config/operators.js';
import { OperatorRefusal } from '../../foundation/operator-refusal.js';
import { BrokenSeal } from '../../operations/ledger/ledger-digest.js';
import { Stopped } from '../../operations/log/log-reader.js';
import { KeyRefused } from '../../operations/operator-keys.js';
import { GenerationsBusy } from '../../postgres/generations-lock.js';
import { Interrupted } from '../../projecting/generations/catch-up.js';
import { ApiError, badRequest, unavailable } from '../edge/api-error.js';
import type { OperationRuns, RunContext, ShownRun } from './operation-runs.js';

/**
 * Starts an operation and answers with what it came to or, when that takes longer, with the run
 * (202, `Location`).
 */
export async function answerWithRun(
  {
    runs,
    reply,
    operator,
  }: { readonly runs: OperationRuns; readonly reply: FastifyReply; readonly operator: Operator },
  operation: string,
  work: (context: RunContext) => Promise<unknown>,
): Promise<unknown> {
  const run = runs.start(operation, operator.name, work);
  if (run === undefined) throw unavailable();
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<'late'>((resolve) => {
    timer = setTimeout(() => resolve('late'), runs.answerMs);
  });
  try {
    const first = await Promise.race([run.result.then((document) => ({ document })), late]);
    if (first !== 'late') return first.document;
  } catch (error) {
    throw asApiError(error);
  } finally {
    clearTimeout(timer);
  }
  return answerRun(reply, run.shown());
}

export function answerRun(reply: FastifyReply, run: ShownRun): ShownRun {
  void reply.header('Cache-Control', 'no-store');
  if (run.state === 'running')
    void reply
      .code(202)
      .header('Location', `/operations/runs/${run.id}`)
      .header('Retry-After', '1');
  return run;
}

/** The work's result; what it says to an operator becomes the reason of a 400. */
export async function answered<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    throw asApiError(error);
  }
}

/** What was written for an operator is shown to one; everything else is as for any route. */
export function asApiError(error: unknown): unknown {
  if (error instanceof KeyRefused) return new ApiError(error.refused);
  const isSaid = [OperatorRefusal, GenerationsBusy, Interrupted, Stopped, BrokenSeal].some(
    (kind) => error instanceof kind,
  );
  return isSaid && error instanceof Error ? badRequest(error.message) : error;
}

/** @throws {ApiError} BAD_REQUEST with one line a member. */
export function parsed<T extends z.ZodType>(schema: T, given: unknown): z.output<T> {
  const outcome = schema.safeParse(given ?? {});
  if (outcome.success) return outcome.data;
  throw new ApiError('BAD_REQUEST', {
    validationErrors: outcome.error.issues.map(
      ({ path, message }) => `${path.length === 0 ? 'the request' : path.join('.')}: ${message}`,
    ),
  });
}

export const mode = z.enum(['live', 'test']).default('live');
export const text = z.string().min(1).max(1_000);
