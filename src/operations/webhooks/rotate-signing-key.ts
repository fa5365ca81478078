import type { Core } from '../../stores/core.js';
import { SigningKeys } from '../../webhooks/signing/signing-keys.js';

export interface SigningKeyRotation {
  /** So long the key before is served; in milliseconds. */
  readonly graceMs: number;
  /** The name of a member of staff. */
  readonly by: string;
}

/**
 * Makes a new key for the webhooks of all tenants. Every process signs with it from its next
 * webhook on.
 */
export const rotateSigningKey = (
  { pool, webhookKeysSealer }: Core,
  { graceMs, by }: SigningKeyRotation,
): Promise<{ readonly kid: string }> =>
  new SigningKeys(pool, webhookKeysSealer).rotate(graceMs, by);
