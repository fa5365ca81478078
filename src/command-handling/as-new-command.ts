import type { CommandMeta } from '../event-log/envelope.js';
import { newId } from '../foundation/world.js';

/** Of a step that is idempotent by content: decided again, since it may have been undone. */
export function asNewCommand(meta: CommandMeta): CommandMeta {
  return { ...meta, commandId: newId(), causationId: meta.commandId, idempotency: null };
}
