import * as z from 'zod';
import { HISTORY_MAX } from '../../operations/themes/theme-commands.js';
import { count, mode, text, wholeNumber } from './operator-request.js';

/** Without one: the default. */
const locale = text.meta({ pattern: '^[a-z]{2}(?:_[A-Z]{2})?$' }).nullable().default(null);
const version = wholeNumber(Number.MAX_SAFE_INTEGER);

export const themeRequest = z.strictObject({ mode, locale });

export const shownThemeRequest = z.strictObject({
  mode,
  locale,
  version: version.optional(),
});

export const themeHistoryRequest = z.strictObject({
  mode,
  locale,
  limit: count(HISTORY_MAX, 100),
});

export const themeRollbackRequest = z.strictObject({ mode, locale, version });
