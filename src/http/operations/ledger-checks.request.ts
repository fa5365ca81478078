import * as z from 'zod';
import { mode, text } from './operator-request.js';

export const replayRequest = z.strictObject({
  mode,
  account: text.optional(),
  asOf: text.optional(),
  position: text.optional(),
  resumeFrom: text.optional(),
});
export const reconciliationRequest = z.strictObject({
  mode,
  period: text.optional(),
  against: z.string().max(900_000).optional(),
});
