import { NotDone, type Outcome } from '../outcome.js';
import type { OperationContext } from './operation.js';

/** The shortest prefix that stands for an id. */
const PREFIX_MIN = 8;

/**
 * The id that an operator means: on the command line, the one with this prefix. A complete id takes
 * precedence, and over HTTP no id is shortened.
 * @param idsFrom at least two ids with a prefix, and the complete id if there is one.
 * @returns what was given when no id has the prefix.
 */
export async function fullId(
  { channel }: Pick<OperationContext, 'channel'>,
  given: string,
  idsFrom: (prefix: string) => Promise<readonly string[]>,
): Promise<Outcome<string>> {
  if (channel === 'http' || given.length < PREFIX_MIN) return given;
  const ids = await idsFrom(given);
  const [first = given, second] = ids;
  if (second === undefined) return first;
  return ids.includes(given)
    ? given
    : new NotDone({ code: 'ID_AMBIGUOUS', id: given, count: ids.length });
}
