import { isLocale } from '../../themes/theme-locale.js';
import { ApiError } from '../edge/api-error.js';

/** The locale of a path or query. @throws {ApiError} BAD_REQUEST with `RS039`. */
export function localeIn(text: string): string {
  if (isLocale(text)) return text;
  throw new ApiError('BAD_REQUEST', {
    rsCode: 'RS039',
    validationErrors: ['locale must be like en or en_US'],
  });
}
