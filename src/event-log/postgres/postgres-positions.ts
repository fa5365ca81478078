import type { Position } from '../event-log.js';

const POSITION_MAX = 2n ** 63n - 1n;

/** Tokens: the first eight hex digits of the log's id, a dash, the position as a decimal. */
export class PostgresPositions {
  private readonly prefix: string;

  constructor(logId: string) {
    this.prefix = logId.slice(0, 8);
  }

  token(position: bigint): Position {
    return `${this.prefix}-${position}`;
  }

  parse(token: string): bigint | undefined {
    const [, prefix, digits] = /^([0-9a-f]{8})-([1-9][0-9]{0,18})$/.exec(token) ?? [];
    if (prefix !== this.prefix || digits === undefined) return undefined;
    const position = BigInt(digits);
    return position > POSITION_MAX ? undefined : position;
  }

  /** 0 is before everything. @throws {TypeError} for a position of another log. */
  number(position: Position | undefined): bigint {
    if (position === undefined) return 0n;
    const number = this.parse(position);
    if (number === undefined) throw new TypeError('not a position of this log');
    return number;
  }
}
