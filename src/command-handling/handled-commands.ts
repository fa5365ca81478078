import type { CommandMeta, Envelope } from '../event-log/envelope.js';
import { isRepeatable } from '../event-log/envelope.js';

const DAY_MS = 24 * 60 * 60 * 1000;
/** So long an effect answers for its idempotency key, by the time at which the log recorded it. */
export const REPLAYED_MS = 7 * DAY_MS;
/** Longer than that, since the clocks of the log and of whoever asks may differ. */
const REMEMBERED_MS = 8 * DAY_MS;

/** A command that may come again, and where its newest event is. */
export interface HandledCommand {
  readonly commandId: string;
  readonly idempotency: Envelope['idempotency'];
  readonly lastRevision: bigint;
  /** By the clock of the log. */
  readonly recordedAt: number;
}

/**
 * What the stream knows of a command: it was handled, another request was with its key, or nothing.
 */
export type Known = HandledCommand | 'another-request' | undefined;

/**
 * The commands that took effect on a stream and may come again: keyed requests, and what policies
 * send. A command is known by its id; a keyed request also by its key, since the kept answer that
 * named its command may be gone. An effect that is older than the promise says nothing of its key:
 * whoever comes then is decided anew, under another command id.
 */
export class HandledCommands {
  /** Oldest first. */
  private readonly byCommand = new Map<string, HandledCommand>();
  private readonly byKey = new Map<string, HandledCommand>();

  get size(): number {
    return this.byCommand.size;
  }

  note(
    envelope: Pick<Envelope, 'commandId' | 'idempotency' | 'actor'>,
    recorded: Pick<HandledCommand, 'lastRevision' | 'recordedAt'>,
  ): void {
    if (!isRepeatable(envelope)) return;
    const { commandId, idempotency } = envelope;
    const command: HandledCommand = { commandId, idempotency, ...recorded };
    this.byCommand.set(commandId, command);
    if (idempotency) this.byKey.set(idempotency.key, command);
    for (const old of this.byCommand.values()) {
      if (old.recordedAt > recorded.recordedAt - REMEMBERED_MS) break;
      this.byCommand.delete(old.commandId);
      if (old.idempotency && this.byKey.get(old.idempotency.key)?.commandId === old.commandId)
        this.byKey.delete(old.idempotency.key);
    }
  }

  find({
    commandId,
    idempotency,
    askedAt = Date.now(),
  }: Pick<CommandMeta, 'commandId' | 'idempotency' | 'askedAt'>): Known {
    const same = this.byCommand.get(commandId);
    if (same) return same;
    const before = idempotency ? this.byKey.get(idempotency.key) : undefined;
    if (!before || before.recordedAt <= askedAt - REPLAYED_MS) return undefined;
    return before.idempotency?.fingerprint === idempotency?.fingerprint
      ? before
      : 'another-request';
  }
}
