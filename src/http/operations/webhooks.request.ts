import * as z from 'zod';
import { DURATION_PATTERN, durationMs } from '../../foundation/duration.js';
import { DELIVERY_STATES } from '../../webhooks/deliveries/shown-deliveries.js';
import { WEBHOOK_TYPES } from '../../webhooks/payloads/announced.js';
import { count, mode, text, textUpTo, time } from './operator-request.js';

const url = textUpTo(2_000);

export const endpointsRequest = z.strictObject({ mode });

export const deliveriesRequest = z.strictObject({
  mode,
  endpoint: url.optional(),
  state: z.enum(DELIVERY_STATES).optional(),
  type: z.enum(WEBHOOK_TYPES).optional(),
  since: time.optional(),
  limit: count(10_000, 100),
});

export const resendRequest = z.union(
  [z.strictObject({ mode, delivery: text }), z.strictObject({ mode, endpoint: url, since: time })],
  'takes delivery, or endpoint and since',
);

export const endpointRequest = z.strictObject({ mode, endpoint: url });

/** `30m`, `24h`, `7d` or `0`. */
const grace = (usual: string) =>
  z
    .string()
    .default(usual)
    .refine((given) => durationMs(given) !== undefined, 'must be a duration such as 30m or 24h')
    .meta({ pattern: DURATION_PATTERN, maxLength: 10 });

export const rotateSecretRequest = z.strictObject({ mode, endpoint: url, grace: grace('24h') });

export const rotateSigningKeyRequest = z.strictObject({ grace: grace('7d') });
