import type { Core } from '../../src/stores/core.js';
import type { Scope } from '../../src/domain/scope.js';

/** The audit events that operators left in a tenant's part of the log today, opened. */
export async function recordedOperations(
  { names, log, codec }: Pick<Core, 'names' | 'log' | 'codec'>,
  scope: Scope,
) {
  const stream = names.operationsStream(scope, new Date().toISOString().slice(0, 10));
  const found = [];
  for await (const event of log.readStream(stream)) found.push(...(await codec.decodeAll([event])));
  return found.map(({ event }) => event);
}
