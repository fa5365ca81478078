import * as z from 'zod';
import { HISTORY_MAX } from '../../operations/themes/theme-commands.js';
import { LOCALE } from '../../themes/theme-locale.js';
import { count, digits, mode, text, wholeNumber } from './operator-request.js';

/** Without one: the default. */
const locale = text
  .meta({ pattern: `^${LOCALE}$` })
  .nullable()
  .default(null);

export const themeRequest = z.strictObject({ mode, locale });

export const shownThemeRequest = z.strictObject({
  mode,
  locale,
  version: digits(Number.MAX_SAFE_INTEGER).optional(),
});

export const themeHistoryRequest = z.strictObject({ mode, locale, limit: count(HISTORY_MAX, 100) });

export const themeRollbackRequest = z.strictObject({
  mode,
  locale,
  version: wholeNumber(Number.MAX_SAFE_INTEGER),
});
