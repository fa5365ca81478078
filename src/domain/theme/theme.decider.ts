import { Set } from 'immutable';
import type { Accepted } from '../decision.js';
import type { Personal } from '../personal.js';
import { refused, type Refused } from '../refusal.js';

/** The values are a row (src/themes/theme-rows.ts); the event proves their digest. */
export type ThemeEvent =
  | ({ readonly type: 'ThemePublished' } & ThemeChangeFacts & {
        /** SHA-256 of the values in canonical JSON, hex. */
        readonly digest: string;
        /** The version whose values these are; null: new values. */
        readonly restores: number | null;
      })
  /** The locale has no values of its own any more. */
  | ({ readonly type: 'ThemeRemoved' } & ThemeChangeFacts);

interface ThemeChangeFacts {
  readonly at: number;
  /** Null: the default. */
  readonly locale: string | null;
  /** Of the locale, from 1. */
  readonly version: number;
  /** The member of staff; null: a caller with a key, named by the envelope. */
  readonly by: Personal<string> | null;
}

export type ThemeValues = Readonly<Record<string, unknown>>;

/** Of a tenant and mode on one day. */
export type RecordedChanges = Set<string>;

export const initialState: RecordedChanges = Set();

const nameOf = ({ locale, version }: ThemeEvent): string => `${locale ?? ''} ${version}`;

export const evolve = (recorded: RecordedChanges, event: ThemeEvent): RecordedChanges =>
  recorded.add(nameOf(event));

/** A change is recorded once. */
export const record = (recorded: RecordedChanges, event: ThemeEvent): Accepted<ThemeEvent> => ({
  events: recorded.has(nameOf(event)) ? [] : [event],
});

/** Locales with their own values, without the default. */
export const LOCALES_MAX = 100;
/** UTF-8 bytes of a locale's values, as JSON. */
export const THEME_BYTES_MAX = 256 * 1024;
/** Of all locales together. */
export const ALL_THEMES_BYTES_MAX = 4 * 1024 * 1024;
export const CHANGED_BYTES_PER_DAY = 16 * 1024 * 1024;
/** Smaller changes count as this many bytes, which limits their number. */
export const CHANGE_BYTES_MIN = 1024;

export interface ThemeLimits {
  /** UTF-8 bytes of the own values by locale (null: the default). */
  readonly bytes: ReadonlyMap<string | null, number>;
  /** Within the last day. */
  readonly changedBytes: number;
}

/** Why the values are refused. @param bytes null: values are removed. */
export function refusalOfChange(
  limits: ThemeLimits,
  locale: string | null,
  bytes: number | null,
): Refused | undefined {
  const problem = bytes === null ? undefined : refusalOfSize(limits, locale, bytes);
  if (problem) return problem;
  const charged = limits.changedBytes + Math.max(bytes ?? 0, CHANGE_BYTES_MIN);
  return charged > CHANGED_BYTES_PER_DAY ? refused('THEME_CHANGED_TOO_MUCH') : undefined;
}

function refusalOfSize(
  { bytes: all }: ThemeLimits,
  locale: string | null,
  bytes: number,
): Refused | undefined {
  const others = [...all].filter(([name]) => name !== locale);
  if (locale !== null && others.filter(([name]) => name !== null).length >= LOCALES_MAX)
    return refused(
      'THEME_INVALID',
      `at most ${LOCALES_MAX} locales have values of their own: remove one first`,
    );
  const sum = others.reduce((total, [, one]) => total + one, bytes);
  const max = ALL_THEMES_BYTES_MAX;
  return sum > max
    ? refused(
        'THEME_INVALID',
        `the values of all locales have ${sum} bytes, more than ${max}: shorten texts`,
      )
    : undefined;
}
