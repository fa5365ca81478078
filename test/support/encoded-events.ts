import { randomUUID } from 'node:crypto';
import type { DomainEvent } from '../../src/domain/events.js';
import type { EventCodec } from '../../src/event-log/codec.js';
import type { Envelope } from '../../src/event-log/envelope.js';
import type { NewEvent } from '../../src/event-log/event-log.js';

export function encodedEvents(
  codec: EventCodec,
  { tenant, mode }: Pick<Envelope, 'tenant' | 'mode'>,
  events: readonly DomainEvent[],
): Promise<NewEvent[]> {
  const commandId = randomUUID();
  const ids = { correlationId: commandId, causationId: commandId, commandId, idempotency: null };
  const envelope = { tenant, mode, actor: { kind: 'api-key', id: 'key' }, ...ids } as const;
  return codec.encode(
    events,
    envelope,
    events.map(() => randomUUID()),
  );
}
