import * as z from 'zod';
import { mode } from './operator-request.js';

export const exportRequest = z.strictObject({ mode });

export const exportsRequest = z.strictObject({
  mode,
  limit: z.coerce.number().int().min(1).max(10_000).default(100),
});
