const DATE = /^[A-Z][a-z]{2}.*\d{2}:\d{2}:\d{2}( \d{4}| GMT)$/;

/**
 * The time that a `Retry-After` asks for (RFC 9110, 10.2.3: seconds, or a date), milliseconds from
 * now on; null: it is none.
 * @param now epoch milliseconds.
 */
export function retryAfterMs(
  header: string | readonly string[] | undefined,
  now: number,
): number | null {
  const [value = ''] = [header].flat();
  if (/^\d+$/.test(value)) return Math.min(Number(value) * 1_000, Number.MAX_SAFE_INTEGER);
  // Of the three forms one does not name the time zone, which is the same.
  const at = DATE.test(value) ? Date.parse(`${value.replace(/ GMT$/, '')} GMT`) : NaN;
  return Number.isNaN(at) ? null : Math.max(0, at - now);
}
