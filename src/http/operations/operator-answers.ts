import type { FastifyReply } from 'fastify';
import type { Outcome } from '../../operations/outcome.js';
import { unavailable } from '../edge/api-error.js';
import type { OperatorCall } from '../edge/call.js';
import type { OperationRuns, RunContext, ShownRun } from './operation-runs.js';
import { done } from './refusals.js';

/**
 * Starts an operation and answers with its result or, when it takes longer, with the run (202,
 * `Location`).
 */
export async function answerWithRun(
  runs: OperationRuns,
  { operator, reply }: OperatorCall,
  operation: string,
  work: (context: RunContext) => Promise<Outcome<unknown>>,
): Promise<unknown> {
  const run = runs.start(operation, operator.name, work);
  if (run === undefined) throw unavailable();
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<'late'>((resolve) => {
    timer = setTimeout(() => resolve('late'), runs.answerMs);
  });
  try {
    const first = await Promise.race([run.result.then((document) => ({ document })), late]);
    if (first !== 'late') return done(first.document);
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

/** The document of an operation. @throws {ApiError} for a refused one. */
export const answered = async <T>(work: Promise<Outcome<T>>): Promise<T> => done(await work);
