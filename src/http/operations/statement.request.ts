import * as z from 'zod';
import { day, mode, text, time } from './operator-request.js';

export const tenantStatementQuery = z.strictObject({
  mode,
  from: day.optional(),
  to: day.optional(),
  unit: text.optional(),
});

export const statementQuery = z.strictObject({
  account: text,
  mode,
  asOf: time.optional(),
  position: text.optional(),
  from: time.optional(),
  to: time.optional(),
  unit: text.optional(),
});
