import type { CommandMeta, Envelope } from '../event-log/envelope.js';
import { isRepeatable } from '../event-log/envelope.js';
import { timeNow } from '../foundation/world.js';

const DAY_MS = 24 * 60 * 60 * 1000;
/** How long an effect answers for its idempotency key, from its recording on. */
export const REPLAYED_MS = 7 * DAY_MS;
/** A margin for differences between clocks. */
const KEPT_MS = 8 * DAY_MS;

/** A repeatable command and the revision of its newest event. */
export interface HandledCommand {
  readonly commandId: string;
  readonly idempotency: Envelope['idempotency'];
  readonly lastRevision: bigint;
  /** By the clock of the log. */
  readonly recordedAt: number;
}

/** The command itself, another request under the same key, or nothing. */
export type EarlierCommand = HandledCommand | 'another-request' | undefined;

/**
 * The repeatable commands that took effect on a stream: keyed requests, and commands of policies.
 * Found by id; keyed requests also by key, since the stored answer with the command id may be gone.
 * After `REPLAYED_MS` the key is free for another request.
 */
export class HandledCommands {
  /** Oldest first. */
  private readonly byCommand = new Map<string, HandledCommand>();
  private readonly byKey = new Map<string, HandledCommand>();

  get size(): number {
    return this.byCommand.size;
  }

  record(
    envelope: Pick<Envelope, 'commandId' | 'idempotency' | 'actor'>,
    recorded: Pick<HandledCommand, 'lastRevision' | 'recordedAt'>,
  ): void {
    if (!isRepeatable(envelope)) return;
    const { commandId, idempotency } = envelope;
    const command: HandledCommand = { commandId, idempotency, ...recorded };
    this.byCommand.set(commandId, command);
    if (idempotency) this.byKey.set(idempotency.key, command);
    // An entry of a clock that was ahead must not end the others.
    const now = Math.min(recorded.recordedAt, timeNow());
    for (const old of this.byCommand.values()) {
      if (old.recordedAt > now - KEPT_MS) break;
      this.byCommand.delete(old.commandId);
      if (old.idempotency && this.byKey.get(old.idempotency.key)?.commandId === old.commandId)
        this.byKey.delete(old.idempotency.key);
    }
  }

  find({
    commandId,
    idempotency,
    askedAt = timeNow(),
  }: Pick<CommandMeta, 'commandId' | 'idempotency' | 'askedAt'>): EarlierCommand {
    const same = this.byCommand.get(commandId);
    if (same) return same;
    const before = idempotency ? this.byKey.get(idempotency.key) : undefined;
    if (!before || before.recordedAt <= askedAt - REPLAYED_MS) return undefined;
    return before.idempotency?.fingerprint === idempotency?.fingerprint
      ? before
      : 'another-request';
  }
}
