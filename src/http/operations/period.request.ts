import * as z from 'zod';
import { mode, text } from './operator-request.js';

export const periodRequest = z.strictObject({ mode, period: text, comment: text });
