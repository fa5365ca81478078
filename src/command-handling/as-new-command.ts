import { randomUUID } from 'node:crypto';
import type { CommandMeta } from '../event-log/envelope.js';

/**
 * A step that is harmless twice by what it says, and that must be decided anew each time: what it
 * did may have been undone since.
 */
export function asNewCommand(meta: CommandMeta): CommandMeta {
  return { ...meta, commandId: randomUUID(), causationId: meta.commandId, idempotency: null };
}
