import * as z from 'zod';
import { HISTORY_MAX } from '../../operations/themes/theme-commands.js';
import { mode, text } from './operator-request.js';

/** Without one: the default. */
const locale = text.nullable().default(null);
const version = z.number().int().min(1).max(Number.MAX_SAFE_INTEGER);

export const themeRequest = z.strictObject({ mode, locale });

export const shownThemeRequest = z.strictObject({
  mode,
  locale,
  version: z.coerce.number().pipe(version).optional(),
});

export const themeHistoryRequest = z.strictObject({
  mode,
  locale,
  limit: z.coerce.number().int().min(1).max(HISTORY_MAX).default(100),
});

export const themeRollbackRequest = z.strictObject({ mode, locale, version });
