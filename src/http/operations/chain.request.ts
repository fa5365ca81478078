import * as z from 'zod';
import { DIGEST_DOCUMENT } from '../../chain/digest-document.js';
import { mode } from './operator-request.js';

export const digestRequest = z.strictObject({ mode, sign: z.boolean().default(false) });
const { $schema: _, ...DIGEST } = z.toJSONSchema(DIGEST_DOCUMENT, { io: 'input' });
export const verificationRequest = z.strictObject({
  mode,
  digest: z.unknown().meta(DIGEST).optional(),
});
