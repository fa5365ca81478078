import { isLocale } from '../../themes/theme-locale.js';
import { ApiError } from '../edge/api-error.js';

/** The locale of a path or query; null: the default. @throws {ApiError} `RS039`. */
export function localeIn(text: string): string;
export function localeIn(text: string | undefined): string | null;
export function localeIn(text: string | undefined): string | null {
  if (text === undefined) return null;
  if (isLocale(text)) return text;
  throw new ApiError('BAD_REQUEST', {
    rsCode: 'RS039',
    validationErrors: ['locale must be like en or en_US'],
  });
}
