import { newBytes } from '../../foundation/world.js';

/** A new secret of an endpoint: `whsec_` and 32 random bytes in base64. */
export const newEndpointSecret = (): string => `whsec_${newBytes(32).toString('base64')}`;
