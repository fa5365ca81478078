import * as z from 'zod';
import { mode } from './operator-request.js';

export const digestRequest = z.strictObject({ mode, sign: z.boolean().default(false) });
export const verificationRequest = z.strictObject({ mode, digest: z.unknown().optional() });
