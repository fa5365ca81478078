import { CommandHandling } from '../../src/command-handling/handle-command.js';
import { HandledCommands } from '../../src/command-handling/handled-commands.js';
import {
  CachedStreams,
  StreamCache,
  type Folded,
} from '../../src/command-handling/stream-cache.js';
import {
  evolve as evolveAccount,
  initialState as noAccount,
  type AccountState,
} from '../../src/domain/account/account.state.js';
import type { AccountEvent } from '../../src/domain/account/account.events.js';
import {
  evolve,
  initialState,
  type TenantRegisterEvent,
  type TenantRegisterState,
} from '../../src/domain/tenant/tenant-register.decider.js';
import { EventCodec } from '../../src/event-log/codec.js';
import type { NewEvent, RecordedEvent } from '../../src/event-log/event-log.js';
import { anAccount, userIdentified } from '../support/account-events.js';
import { InMemoryEventLog } from '../support/in-memory-event-log.js';
import { InMemorySubjectKeys } from '../support/in-memory-subject-keys.js';

const ENVELOPE = {
  tenant: 'demo',
  mode: null,
  correlationId: 'c',
  causationId: 'c',
  commandId: 'c',
  idempotency: null,
  actor: { kind: 'system' as const, id: 'test' },
};
const ID = '00000000-0000-5000-8000-000000000000';
const MIB = 1024 * 1024;
const codec = new EventCodec(new InMemorySubjectKeys());

class AlikeStreams extends InMemoryEventLog {
  readonly readFrom: bigint[] = [];
  constructor(private readonly only: NewEvent) {
    super();
  }
  override async *readStream(
    stream: string,
    { from = 0n }: { readonly from?: bigint } = {},
  ): AsyncIterable<RecordedEvent> {
    this.readFrom.push(from);
    await Promise.resolve();
    if (from === 0n) yield { ...this.only, stream, revision: 0n, position: 'm-1', recordedAt: 1 };
  }
}

async function stored(event: AccountEvent | TenantRegisterEvent): Promise<NewEvent> {
  const [encoded] = await codec.encode([event], ENVELOPE, [ID]);
  if (!encoded) throw new Error('nothing was encoded');
  return encoded;
}

/** A user whose custom fields come to about 110 KiB. */
const large = (): AccountEvent =>
  userIdentified(anAccount('acme'), 'ann', {
    customFields: Object.fromEntries(
      Array.from({ length: 100 }, (_, n) => [`field${n}`, 'x'.repeat(1_024)]),
    ),
  });

it('accounts are cached within a number of bytes, and the least recently used one is evicted', async () => {
  const log = new AlikeStreams(await stored(large()));
  const remembered = new CachedStreams(8 * MIB);
  const accounts = new CommandHandling<AccountState, AccountEvent>(
    log,
    codec,
    { initialState: noAccount, evolve: evolveAccount },
    remembered,
  );
  /** Where reading it began: 0 when nothing was remembered of it. */
  const load = async (stream: string): Promise<bigint | undefined> => {
    await accounts.load(stream);
    return log.readFrom.at(-1);
  };
  for (let n = 0; n < 80; n++) {
    await load(`account-${n}`);
    expect(remembered.bytes).toBeLessThanOrEqual(8 * MIB);
  }
  expect(remembered.size).toBeGreaterThan(12);
  expect(await load('account-79')).toBe(1n);
  expect(await load('account-0')).toBe(0n);
});

const at = (revision: bigint): Folded<string> => ({
  state: `state ${revision}`,
  revision,
  position: `m-${revision}`,
  eventId: ID,
  epoch: 0,
  handled: new HandledCommands(),
  bytes: 100,
});

it('the cache of a stream keeps the newest state, whichever read ends last', () => {
  const cache = new StreamCache<string>(new CachedStreams());
  cache.put('account', at(6n), 0);
  cache.put('account', at(5n), 0);
  expect(cache.get('account')?.revision).toBe(6n);
  cache.put('account', at(7n), 0);
  expect(cache.get('account')?.revision).toBe(7n);
});

it('the cache of a stream keeps no state that was decoded before an erasure and arrives after it', () => {
  const cache = new StreamCache<string>(new CachedStreams(), () => ['ann']);
  const { evictions } = cache;
  cache.put('account', at(5n), evictions);
  cache.forgetSubjects(new Set(['ann']));
  expect(cache.get('account')).toBeUndefined();
  expect(cache.put('account', at(6n), evictions).revision).toBe(6n);
  expect(cache.get('account')).toBeUndefined();
  cache.put('account', at(6n), cache.evictions);
  expect(cache.get('account')?.revision).toBe(6n);
});

const meta = { ...ENVELOPE, scope: { tenant: 'demo', mode: 'live' as const } };
const entered = (alias: string): TenantRegisterEvent => ({
  type: 'TenantAliasEntered',
  at: 1,
  alias,
});

/** A person is forgotten once a page was decoded, with the keys from before. */
class OvertakenCodec extends EventCodec {
  erase: () => void = () => undefined;
  override async decodeAll(recorded: readonly RecordedEvent[]) {
    const decoded = await super.decodeAll(recorded);
    this.erase();
    return decoded;
  }
}

const open = (log: InMemoryEventLog) => {
  const remembered = new CachedStreams();
  const overtaken = new OvertakenCodec(new InMemorySubjectKeys());
  const streams = new CommandHandling<TenantRegisterState, TenantRegisterEvent>(
    log,
    overtaken,
    { initialState, evolve },
    remembered,
  );
  return { remembered, overtaken, streams };
};
const written = async (...aliases: readonly string[]) => {
  const log = new InMemoryEventLog();
  await open(log).streams.handle('register', meta, () => ({ events: aliases.map(entered) }));
  return log;
};

it('a state that an erasure overtakes is used once and not cached while it is loaded', async () => {
  const { remembered, overtaken, streams } = open(await written('one'));
  overtaken.erase = () => streams.forgetSubjects(new Set(['another']));
  expect((await streams.load('register')).revision).toBe(0n);
  expect(remembered.get('register')).toBeUndefined();
  overtaken.erase = () => undefined;
  expect((await streams.load('register')).revision).toBe(0n);
  expect(remembered.get('register')?.folded.revision).toBe(0n);
});

it.each([
  ['decides on it, cached before', true, 'decision'],
  ['decides on it, loaded before', false, 'decision'],
  ['loads it', false, 'load'],
])(
  'a state that an erasure overtakes is used once and not cached while a command %s',
  async (_, isCached, during) => {
    const { remembered, overtaken, streams } = open(await written('one'));
    if (isCached) await streams.load('register');
    const erase = () => streams.forgetSubjects(new Set(['another']));
    if (during === 'load') overtaken.erase = erase;
    const outcome = await streams.handle('register', { ...meta, commandId: 'another' }, () => {
      if (during === 'decision') erase();
      return { events: [entered('two')] };
    });
    expect(outcome).toMatchObject({ kind: 'accepted' });
    expect(remembered.get('register')?.folded.revision).not.toBe(1n);
    overtaken.erase = () => undefined;
    expect((await streams.load('register')).revision).toBe(1n);
    expect(remembered.get('register')?.folded.revision).toBe(1n);
  },
);
