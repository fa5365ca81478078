import * as z from 'zod';
import { mode, text, time } from './operator-request.js';

export const shownPaymentsRequest = z.strictObject({ mode, account: text.optional() });

export const connectRequest = z.strictObject({
  mode,
  provider: text,
  secretKey: text,
  webhookSecret: text,
  apiBase: z.string().min(1).max(2_000).optional(),
});

export const scopeRequest = z.strictObject({ mode });

export const syncRequest = z.strictObject({ mode, since: time.optional() });
