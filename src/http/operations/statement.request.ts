import * as z from 'zod';
import { mode, text } from './operator-request.js';

export const tenantStatementQuery = z.strictObject({
  mode,
  from: text.optional(),
  to: text.optional(),
  unit: text.optional(),
});

export const statementQuery = z.strictObject({
  account: text,
  mode,
  asOf: text.optional(),
  position: text.optional(),
  from: text.optional(),
  to: text.optional(),
  unit: text.optional(),
});
