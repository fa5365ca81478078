import * as z from 'zod';
import { MAIL_STATES } from '../../mails/deliveries/shown-mails.js';
import { mode, text } from './operator-request.js';

export const mailsRequest = z.strictObject({
  mode,
  state: z.enum(MAIL_STATES).optional(),
  limit: z.coerce.number().int().min(1).max(10_000).default(100),
});

export const resendMailRequest = z.strictObject({ mode, delivery: text });
