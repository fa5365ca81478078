import { randomUUID } from 'node:crypto';
import type { AccountEvent } from '../../src/domain/account/account.events.js';
import type { EventLog, Position, RecordedEvent } from '../../src/event-log/event-log.js';
import type { DecodeEvents, LedgerEvent } from '../../src/projecting/projector.js';
import type { TestAccount } from './account-events.js';

/** Writes and reads account events in plain form, as projections see them. */
export class TestLedger {
  private readonly revisions = new Map<string, bigint>();
  /** Event ids that cannot be decoded for the time being. */
  readonly undecodable = new Set<string>();

  constructor(readonly log: EventLog) {}

  /** Appends to the account's stream, in one append. Returns the position of the last event. */
  async happened(account: TestAccount, ...events: readonly AccountEvent[]): Promise<Position> {
    return this.append(
      account,
      events.map((event) => ({ id: randomUUID(), type: event.type, data: JSON.stringify(event) })),
    );
  }

  /** Appends one event that cannot be decoded until its id is taken from `undecodable`. */
  async happenedUndecodably(
    account: TestAccount,
    event: AccountEvent,
    type: string = event.type,
  ): Promise<{ id: string; position: Position }> {
    const id = randomUUID();
    this.undecodable.add(id);
    return {
      id,
      position: await this.append(account, [{ id, type, data: JSON.stringify(event) }]),
    };
  }

  readonly decode: DecodeEvents = (recorded) =>
    Promise.resolve(
      recorded.map((event) => {
        const { stream, revision, position } = event;
        return this.undecodable.has(event.id)
          ? { undecodable: 'written by a later release', stream, revision, position }
          : ledgerEvent(event);
      }),
    );

  private async append(
    account: TestAccount,
    events: readonly { id: string; type: string; data: string }[],
  ): Promise<Position> {
    const { tenant, mode, accountRef, stream } = account;
    const metadata = JSON.stringify({ tenant, mode, accountRef });
    const result = await this.log.append(
      stream,
      this.revisions.get(stream) ?? 'no-stream',
      events.map((event) => ({ ...event, metadata })),
    );
    if (result.kind === 'conflict') throw new Error(`${stream} is at ${result.actual}`);
    this.revisions.set(stream, result.revision);
    return result.position;
  }
}

function ledgerEvent({ id, data, metadata, ...at }: RecordedEvent): LedgerEvent {
  const account = JSON.parse(metadata) as Pick<LedgerEvent, 'tenant' | 'mode' | 'accountRef'>;
  const { stream, revision, position, recordedAt } = at;
  const of = { eventId: id, correlationId: id, commandId: id };
  const event = JSON.parse(data) as AccountEvent;
  return ledgerEventOf({ ...account, stream }, event, { ...of, revision, position, recordedAt });
}

export const ledgerEventOf = <E>(
  { tenant, mode, accountRef, stream }: Omit<TestAccount, 'accountId'>,
  event: E,
  over: Partial<LedgerEvent<E>> = {},
): LedgerEvent<E> => ({
  event,
  eventId: 'event',
  stream,
  revision: 0n,
  position: '1',
  recordedAt: 1,
  tenant,
  mode,
  accountRef,
  actor: { kind: 'system', id: 'test' },
  correlationId: 'correlation',
  commandId: 'command',
  ...over,
});
