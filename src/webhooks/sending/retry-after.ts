const DATE = /^[A-Z][a-z]{2}.*\d{2}:\d{2}:\d{2}( \d{4}| GMT)$/;

/** Milliseconds from `now` to the time of a `Retry-After` (RFC 9110, 10.2.3); null: invalid. */
export function retryAfterMs(
  header: string | readonly string[] | undefined,
  now: number,
): number | null {
  const [value = ''] = [header].flat();
  if (/^\d+$/.test(value)) return Math.min(Number(value) * 1_000, Number.MAX_SAFE_INTEGER);
  // One of the three date formats does not name the time zone, which is always GMT.
  const at = DATE.test(value) ? Date.parse(`${value.replace(/ GMT$/, '')} GMT`) : NaN;
  return Number.isNaN(at) ? null : Math.max(0, at - now);
}
