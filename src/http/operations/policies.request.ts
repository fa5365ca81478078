import * as z from 'zod';
import { text } from './operator-request.js';

export const retryRequest = z.strictObject({ id: text.optional() });
