import { emptyStream, fold, type Folding } from '../../src/command-handling/fold-stream.js';
import { evolve, initialState, type AccountState } from '../../src/domain/account/account.state.js';
import type { AccountEvent } from '../../src/domain/account/account.events.js';
import { EventCodec } from '../../src/event-log/codec.js';
import { UnreadableEvent } from '../../src/event-log/event-schemas.js';
import { accountOpened, anAccount } from '../support/account-events.js';
import { InMemorySubjectKeys } from '../support/in-memory-subject-keys.js';

const accounts: Folding<AccountState, AccountEvent> = {
  initialState: evolve(initialState, accountOpened(anAccount('a'))),
  evolve,
};
const DATA = '{"subscription":{"status":"FREE"}}';
const METADATA = JSON.stringify({ v: 1, at: 0, actor: { kind: 'system', id: 'test' } });

async function folded(stored: { readonly data?: string; readonly metadata?: string }) {
  const decoded = await new EventCodec(new InMemorySubjectKeys()).decodeAll([
    {
      id: '00000000-0000-5000-8000-000000000000',
      stream: 'account-a',
      type: 'SubscriptionChanged',
      position: '1',
      revision: 0n,
      recordedAt: 0,
      data: DATA,
      metadata: METADATA,
      ...stored,
    },
  ]);
  return fold(accounts, emptyStream(accounts), decoded);
}

test('an event with all members of its version is folded', async () => {
  expect(await folded({})).toMatchObject({ revision: 0n, position: '1' });
});

test.each([
  ['data without a member', { data: '{}' }],
  ['data that are a list', { data: '[1,2]' }],
  ['an empty member', { data: '{"subscription":null}' }],
  ['metadata without an actor', { metadata: '{"v":1,"at":0}' }],
])('a stream with an event that has %s cannot be read', async (_, stored) => {
  await expect(folded(stored)).rejects.toThrow(UnreadableEvent);
});
