import { randomUUID } from 'node:crypto';
import type { CommandMeta } from '../event-log/envelope.js';
import { deterministicId } from './deterministic-id.js';

/** Each step of a command is a command of its own to the stream that it goes to. */
export function stepOf(meta: CommandMeta, step: string): CommandMeta {
  return { ...meta, commandId: deterministicId(meta.commandId, step), causationId: meta.commandId, idempotency: null };
}

/** A step that is harmless twice by what it says, and that must be decided anew each time: what it did may have been undone since. */
export function freshStepOf(meta: CommandMeta): CommandMeta {
  return { ...meta, commandId: randomUUID(), causationId: meta.commandId, idempotency: null };
}
