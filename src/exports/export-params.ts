import { instant } from '../foundation/instant.js';
import { EXPORT_DATES, type ExportDates, type ExportFilters } from './export-order.js';

/** As the client sends them: filters, with times in epoch milliseconds or ISO 8601, and `dates`. */
export type ExportParams = Readonly<Record<string, string | number>>;

const TIMES = [
  'createdSince',
  'createdBefore',
  'updatedSince',
  'updatedBefore',
  'createdOrUpdatedSince',
  'createdOrUpdatedBefore',
] as const;
const PROGRAM = 'programId';
const DATES = 'dates';
export const PARAMS: readonly string[] = [...TIMES, PROGRAM, DATES];
const TEXT_LENGTH_MAX = 255;
const CONTROL = /\p{Cc}|\p{Surrogate}/u;

/** Most lines that `problemsOfParams` returns. */
export const PARAM_PROBLEMS_MAX = PARAMS.length + 1;

/** One line per invalid member, and one for all unknown members. */
export function problemsOfParams(params: Readonly<Record<string, unknown>>): readonly string[] {
  const problems = Object.entries(params).flatMap(([key, value]) => {
    if (!PARAMS.includes(key)) return [`params must hold ${PARAMS.join(', ')} only`];
    if (key === PROGRAM)
      return isProgramId(value)
        ? []
        : [`params.${key} must be 1 to ${TEXT_LENGTH_MAX} characters without control characters`];
    if (key === DATES)
      return EXPORT_DATES.some((form) => form === value)
        ? []
        : [`params.${key} must be one of ${EXPORT_DATES.join(', ')}`];
    return timeIn(value) === null
      ? [`params.${key} must be a time in epoch milliseconds or ISO 8601`]
      : [];
  });
  return [...new Set(problems)];
}

/** An id may be a JSON number, as everywhere. */
const isProgramId = (value: unknown): boolean =>
  Number.isSafeInteger(value) ||
  (typeof value === 'string' &&
    value !== '' &&
    [...value].length <= TEXT_LENGTH_MAX &&
    !CONTROL.test(value));

function timeIn(value: unknown): number | null {
  if (typeof value === 'string') return value.length > 64 ? null : instant(value);
  return typeof value === 'number' ? instant(String(value)) : null;
}

/** @param params valid ones; null: none. */
export const datesIn = (params: ExportParams | null): ExportDates =>
  EXPORT_DATES.find((form) => form === params?.[DATES]) ?? 'EPOCH_MS';

/** @param params valid ones; null: none. */
export function filtersIn(params: ExportParams | null): ExportFilters {
  const filters: { -readonly [K in keyof ExportFilters]: ExportFilters[K] } = {};
  for (const key of TIMES) {
    const time = timeIn(params?.[key]);
    if (time !== null) filters[key] = time;
  }
  const programId = params?.[PROGRAM];
  if (programId !== undefined) filters.programId = String(programId);
  return filters;
}
