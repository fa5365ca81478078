import type { AccountEvent } from '../src/domain/account/account.events.js';

/**
 * The two events of an erasure clean every read model. The request does so at once; the tombstone does it again, for what was decided
 * meanwhile by somebody who had not heard of it. Behind the tombstone nothing can be read any more.
 */
export const ERASURES = ['ErasureRequested', 'ErasureCompleted'] as const satisfies readonly AccountEvent['type'][];
