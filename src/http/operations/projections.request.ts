import * as z from 'zod';
import { mode, text } from './operator-request.js';

export const choiceRequest = z.strictObject({
  projection: text.optional(),
  all: z.boolean().default(false),
});
export const rebuildRequest = choiceRequest.extend({
  dryRun: z.boolean().default(false),
  resume: z.boolean().default(false),
  tenant: text.optional(),
  account: text.optional(),
  mode,
});
export const retryRequest = z.strictObject({ projection: text.optional() });
