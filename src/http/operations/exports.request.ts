import * as z from 'zod';
import { count, mode } from './operator-request.js';

export const exportRequest = z.strictObject({ mode });

export const exportsRequest = z.strictObject({ mode, limit: count(10_000, 100) });
