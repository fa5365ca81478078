import * as z from 'zod';
import { MAIL_STATES } from '../../mails/deliveries/shown-mails.js';
import { count, mode, text } from './operator-request.js';

export const mailsRequest = z.strictObject({
  mode,
  state: z.enum(MAIL_STATES).optional(),
  limit: count(10_000, 100),
});

export const resendMailRequest = z.strictObject({ mode, delivery: text });
