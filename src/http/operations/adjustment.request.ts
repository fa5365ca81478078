import * as z from 'zod';
import { mode, text } from './operator-request.js';

export const adjustmentRequest = z.strictObject({
  mode,
  account: text,
  user: text,
  unit: text.max(64, 'takes at most 64 characters'),
  reason: text,
  approvedBy: text,
  amount: z
    .int('must be a whole number, such as 500 or -500')
    .refine((amount) => amount !== 0, 'must not be 0'),
});
