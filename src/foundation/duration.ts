const UNITS_MS: Readonly<Record<string, number>> = {
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
};
const DURATION_MAX_MS = 366 * 86_400_000;

/** `30s`, `15m`, `24h`, `7d` or `0`, in milliseconds; undefined: none of these, or over a year. */
export function durationMs(text: string): number | undefined {
  if (text === '0') return 0;
  const [, number = '', unit = ''] = /^(\d{1,9})([smhd])$/.exec(text) ?? [];
  const ms = Number(number) * (UNITS_MS[unit] ?? NaN);
  return number !== '' && ms <= DURATION_MAX_MS ? ms : undefined;
}
