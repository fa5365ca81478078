import type { Position } from '../event-log.js';
import type { WirePosition } from './eventstoredb-wire.js';

const NUMBER_MAX = 2n ** 64n - 1n;

export const BEFORE_ALL: WirePosition = { commit: -1n, prepare: -1n };

/** Eight hex digits of the log's id, commit and prepare position, with dashes. */
export const tokenOf = (logId: string, { commit, prepare }: WirePosition): Position =>
  `${logId.slice(0, 8)}-${commit}-${prepare}`;

/** @param logId undefined until the store was first reached: then the form of the token decides. */
export function parseToken(text: string, logId: string | undefined): WirePosition | undefined {
  const [, log, commit = '', prepare = ''] =
    /^([0-9a-f]{8})-(0|[1-9]\d{0,19})-(0|[1-9]\d{0,19})$/.exec(text) ?? [];
  if (log === undefined || (logId !== undefined && !logId.startsWith(log))) return undefined;
  const position = { commit: BigInt(commit), prepare: BigInt(prepare) };
  return position.commit > NUMBER_MAX || position.prepare > NUMBER_MAX ? undefined : position;
}

/** @throws {TypeError} for a position of another log. */
export function positionOf(token: Position | undefined, logId: string | undefined): WirePosition {
  if (token === undefined) return BEFORE_ALL;
  const position = parseToken(token, logId);
  if (position === undefined) throw new TypeError('not a position of this log');
  return position;
}

export function comparePositions(a: WirePosition, b: WirePosition): number {
  if (a.commit !== b.commit) return a.commit < b.commit ? -1 : 1;
  return a.prepare === b.prepare ? 0 : a.prepare < b.prepare ? -1 : 1;
}
