import { digitsUpTo } from './digits-up-to.js';

const UNITS_MS: Readonly<Record<string, number>> = {
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
};
const DURATION_MAX_MS = 366 * 86_400_000;

/** The texts that `durationMs` reads, of at most ten characters. */
export const DURATION_PATTERN = `^(?:0|${Object.entries(UNITS_MS)
  .map(([unit, ms]) => `${digitsUpTo(DURATION_MAX_MS / ms)}${unit}`)
  .join('|')})$`;

/** Milliseconds of `30s`, `15m`, `24h`, `7d` or `0`; undefined: invalid, or above `max`. */
export function durationMs(text: string, max = DURATION_MAX_MS): number | undefined {
  if (text === '0') return 0;
  const [, number = '', unit = ''] = /^(\d{1,9})([smhd])$/.exec(text) ?? [];
  const ms = Number(number) * (UNITS_MS[unit] ?? NaN);
  return number !== '' && ms <= max ? ms : undefined;
}

/** In the largest unit of which it has at least two: `40 d`, `90 min`. */
export function durationText(ms: number): string {
  const of = (unitMs: number): number => Math.round(ms / unitMs);
  if (ms >= 2 * 86_400_000) return `${of(86_400_000)} d`;
  if (ms >= 2 * 3_600_000) return `${of(3_600_000)} h`;
  return ms >= 2 * 60_000 ? `${of(60_000)} min` : `${of(1_000)} s`;
}
