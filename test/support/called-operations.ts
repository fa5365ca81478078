import { OperationCalls } from '../../src/http/operations/operation-calls.js';
import type { Operation } from '../../src/operations/registry/operation.js';
import type { RunningService } from './running-service.js';
import { done } from './operations.js';

/** Runs an operation as the console does. @throws {Refused} */
export async function calledBy<T>(
  service: RunningService,
  name: string,
  operation: Operation,
  request: object,
  key?: string,
): Promise<T> {
  const calls = service.service.app.get(OperationCalls);
  const by = { name, channel: 'console' } as const;
  return done(await calls.run(operation, request, { by, key })) as T;
}
