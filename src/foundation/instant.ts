const INSTANT_MAX = 8.64e15;
// A plus sign before a zone arrives as a space when it was not percent-encoded.
const ISO =
  /^(\d{4}-\d{2}-\d{2})(?:T(\d{2}:\d{2})(:\d{2}(?:\.\d{1,9})?)?(Z|[+\- ]\d{2}(?::?\d{2})?)?)?$/i;

/** Epoch milliseconds of such a number or of ISO 8601 (default UTC). Null: neither. */
export function instant(text: string): number | null {
  if (/^-?\d{1,16}$/.test(text)) {
    const epoch = Number(text);
    return Math.abs(epoch) <= INSTANT_MAX ? epoch : null;
  }
  const [, day, minutes = '00:00', seconds = ':00', zone = 'Z'] = ISO.exec(text) ?? [];
  if (day === undefined || !isCalendarDay(day)) return null;
  const parsed = Date.parse(`${day}T${minutes}${seconds}${fullZone(zone)}`);
  return Number.isNaN(parsed) ? null : parsed;
}

export const isoText = (at: number): string => new Date(at).toISOString();
export const isoOrNull = (at: number | null): string | null => (at === null ? null : isoText(at));

/** As `instant`, for the inclusive end of a range: a date without time is its last millisecond. */
export const lastInstant = (text: string): number | null =>
  instant(/^\d{4}-\d{2}-\d{2}$/.test(text) ? `${text}T23:59:59.999Z` : text);

/** `Date.parse` would turn 30 February into March. */
function isCalendarDay(day: string): boolean {
  const parsed = Date.parse(`${day}T00:00:00Z`);
  return !Number.isNaN(parsed) && new Date(parsed).toISOString().startsWith(day);
}

function fullZone(zone: string): string {
  if (zone.toUpperCase() === 'Z') return 'Z';
  const digits = zone.slice(1).replace(':', '').padEnd(4, '0');
  return `${zone.startsWith('-') ? '-' : '+'}${digits.slice(0, 2)}:${digits.slice(2)}`;
}

const LEAP_YEAR = '(?:\\d\\d(?:0[48]|[2468][048]|[13579][26])|(?:[02468][048]|[13579][26])00)';
const DAY = `(?:\\d{4}-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12]\\d|3[01])|(?:0[469]|11)-(?:0[1-9]|[12]\\d|30)|02-(?:0[1-9]|1\\d|2[0-8]))|${LEAP_YEAR}-02-29)`;

/** A pattern of the ISO 8601 texts that `instant` reads. */
export const ISO_TIME = `(?:${DAY}(?:T(?:[01]\\d|2[0-3]):[0-5]\\d(?::[0-5]\\d(?:\\.\\d{1,9})?)?(?:Z|[+-](?:0\\d|1[0-3]):[0-5]\\d)?)?)`;
