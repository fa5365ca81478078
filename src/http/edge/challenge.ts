import { ApiError } from './api-error.js';

/** `WWW-Authenticate` of every 401. */
export const CHALLENGE = { 'WWW-Authenticate': 'Basic realm="referral-ledger", charset="UTF-8"' };

export const unauthorized = (rsCode: string | null): ApiError =>
  new ApiError('UNAUTHORIZED', { rsCode, headers: CHALLENGE });
