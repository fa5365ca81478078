const TIME = String.raw`(?<time>\d{2}:\d{2}:\d{2})`;

/** A date of HTTP: as it is written now, as in RFC 850, and as `asctime` of C writes it. */
const DATES = [
  new RegExp(`^[A-Z][a-z]{2}, (?<day>\\d{2}) (?<month>[A-Z][a-z]{2}) (?<year>\\d{4}) ${TIME} GMT$`),
  new RegExp(
    `^[A-Z][a-z]{5,8}, (?<day>\\d{2})-(?<month>[A-Z][a-z]{2})-(?<year>\\d{2}) ${TIME} GMT$`,
  ),
  new RegExp(`^[A-Z][a-z]{2} (?<month>[A-Z][a-z]{2}) (?<day>[ \\d]\\d) ${TIME} (?<year>\\d{4})$`),
];

/** RFC 9110, 5.6.7: a year of two digits that seems further ahead is one of the past. */
const YEARS_AHEAD_MAX = 50;

/**
 * The time that a `Retry-After` asks for (RFC 9110, 10.2.3: seconds, or a date in one of three
 * forms), milliseconds from now on; null: it is none.
 * @param now epoch milliseconds.
 */
export function retryAfterMs(
  header: string | readonly string[] | undefined,
  now: number,
): number | null {
  const [value = ''] = [header].flat();
  if (/^\d+$/.test(value)) return Math.min(Number(value) * 1_000, Number.MAX_SAFE_INTEGER);
  const at = dateOf(value, new Date(now).getUTCFullYear());
  return at === null ? null : Math.max(0, at - now);
}

/** Epoch milliseconds; null: it is none. */
function dateOf(value: string, yearNow: number): number | null {
  const parts = DATES.map((form) => form.exec(value)?.groups).find((groups) => groups);
  if (parts === undefined) return null;
  const { day = '', month = '', year = '', time = '' } = parts;
  const full = year.length === 2 ? yearOf(Number(year), yearNow) : year;
  const at = Date.parse(`${day.trim().padStart(2, '0')} ${month} ${full} ${time} GMT`);
  return Number.isNaN(at) ? null : at;
}

function yearOf(lastTwo: number, yearNow: number): number {
  const year = yearNow - (yearNow % 100) + lastTwo;
  return year > yearNow + YEARS_AHEAD_MAX ? year - 100 : year;
}
