import * as z from 'zod';
import { mode, month, text } from './operator-request.js';

export const periodRequest = z.strictObject({ mode, period: month, comment: text });
