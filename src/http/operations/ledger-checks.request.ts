import * as z from 'zod';
import { mode, month, text, time } from './operator-request.js';

export const replayRequest = z
  .strictObject({
    mode,
    account: text.optional(),
    asOf: time.optional(),
    position: text.optional(),
    resumeFrom: text.optional(),
  })
  .meta({ not: { required: ['asOf', 'position'], properties: { asOf: {}, position: {} } } });
export const reconciliationRequest = z.strictObject({
  mode,
  period: month.optional(),
  against: z.string().max(900_000).optional(),
});
