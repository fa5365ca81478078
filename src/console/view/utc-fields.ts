import { DAY } from '../../operations/ledger/ledger-selection.js';

/** A native field for a moment in UTC; a day is shown as its end. */
export function utcField(typed: string) {
  const at = Date.parse(DAY.test(typed) ? `${typed}T23:59:59Z` : withZone(typed));
  const value = Number.isNaN(at) ? '' : new Date(at).toISOString().slice(0, 23);
  return { type: 'datetime-local', step: 'any', value: value.replace(/(:00)?\.000$/, '') };
}

/** Without a zone it is UTC. */
const withZone = (typed: string): string =>
  /T.*(?:Z|[+-]\d{2}:?\d{2})$/.test(typed) ? typed : `${typed}Z`;

/** A native field for a month. */
export const monthField = (typed: string) => ({
  type: 'month',
  value: /^\d{4}-\d\d$/.test(typed) ? typed : '',
});
