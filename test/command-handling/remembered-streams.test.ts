import { CommandHandling } from '../../src/command-handling/handle-command.js';
import {
  evolve,
  initialState,
  type TenantRegisterEvent,
  type TenantRegisterState,
} from '../../src/domain/tenant/tenant-register.decider.js';
import { EventCodec } from '../../src/event-log/codec.js';
import type { NewEvent, RecordedEvent } from '../../src/event-log/event-log.js';
import { InMemoryEventLog } from '../support/in-memory-event-log.js';
import { InMemorySubjectKeys } from '../support/in-memory-subject-keys.js';

const ENVELOPE = {
  ...{ tenant: 'demo', mode: null, correlationId: 'c', causationId: 'c', commandId: 'c', idempotency: null },
  actor: { kind: 'system' as const, id: 'test' },
};

/** Every stream has so many events, of which only the last one is handed out. */
class LongStreams extends InMemoryEventLog {
  readonly readFrom: bigint[] = [];
  constructor(
    private readonly last: NewEvent,
    private readonly revision: bigint,
  ) {
    super();
  }
  override async *readStream(stream: string, { from = 0n }: { readonly from?: bigint } = {}): AsyncIterable<RecordedEvent> {
    this.readFrom.push(from);
    await Promise.resolve();
    if (from <= this.revision) yield { ...this.last, stream, revision: this.revision, position: 'm-1', recordedAt: 1 };
  }
}

async function streamsOf(length: bigint) {
  const codec = new EventCodec(new InMemorySubjectKeys());
  const [last] = await codec.encode([{ type: 'TenantAliasEntered', at: 1, alias: 'a' }], ENVELOPE, [
    '00000000-0000-5000-8000-000000000000',
  ]);
  if (!last) throw new Error('nothing was encoded');
  const log = new LongStreams(last, length - 1n);
  const handling = new CommandHandling<TenantRegisterState, TenantRegisterEvent>(log, codec, { initialState, evolve });
  /** Where reading it began: 0 when nothing was remembered of it. */
  const load = async (stream: string): Promise<bigint | undefined> => {
    await handling.load(stream);
    return log.readFrom.at(-1);
  };
  return load;
}

it('long streams are remembered too, but only as many as memory holds: the one used longest ago goes', async () => {
  const load = await streamsOf(100_000n);
  for (let stream = 0; stream < 11; stream++) await load(`stream-${stream}`);
  expect(await load('stream-10')).toBe(100_000n);
  expect(await load('stream-1')).toBe(100_000n);
  expect(await load('stream-0')).toBe(0n);
});

it('of short ones more are remembered', async () => {
  const load = await streamsOf(3n);
  for (let stream = 0; stream < 1_000; stream++) await load(`stream-${stream}`);
  expect(await load('stream-0')).toBe(3n);
});
