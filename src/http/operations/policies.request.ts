import * as z from 'zod';
import { text } from './operator-request.js';

export const skipRequest = z.strictObject({ reason: text });

export const retryRequest = z.strictObject({ id: text.optional() });
