import type { CommandMeta } from '../event-log/envelope.js';
import { newId } from '../foundation/world.js';

/**
 * The meta of a step that is idempotent by its content. It is decided anew each time, since its
 * effect may have been undone in the meantime.
 */
export function asNewCommand(meta: CommandMeta): CommandMeta {
  return { ...meta, commandId: newId(), causationId: meta.commandId, idempotency: null };
}
