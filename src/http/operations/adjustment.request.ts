import * as z from 'zod';
import { isUnit, trimmedUnit, UNIT_LENGTH_MAX } from '../../domain/units.js';
import { trimmedPattern } from '../../foundation/outside-text.js';
import { mode, text } from './operator-request.js';

export const adjustmentRequest = z.strictObject({
  mode,
  account: text,
  user: text,
  unit: text
    .transform(trimmedUnit)
    .refine(isUnit, `takes 1 to ${UNIT_LENGTH_MAX} characters without control characters`)
    .meta({ pattern: trimmedPattern(UNIT_LENGTH_MAX) }),
  reason: text,
  approvedBy: text,
  amount: z
    .int('must be a whole number, such as 500 or -500')
    .refine((amount) => amount !== 0, 'must not be 0')
    .meta({ not: { const: 0 } }),
});
