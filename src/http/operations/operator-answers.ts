import type { FastifyReply } from 'fastify';
import { unavailable } from '../edge/api-error.js';
import type { OperationRuns, Run, ShownRun } from './operation-runs.js';
import { done } from './refusals.js';

/**
 * Answers with the result, or with the run (202, `Location`) if the operation takes longer.
 * @param run undefined: too many runs are running, and it was not started.
 */
export async function answerWithRun(
  { answerMs }: Pick<OperationRuns, 'answerMs'>,
  reply: FastifyReply,
  run: Run | undefined,
): Promise<unknown> {
  if (run === undefined) throw unavailable();
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<'late'>((resolve) => {
    timer = setTimeout(() => resolve('late'), answerMs);
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
