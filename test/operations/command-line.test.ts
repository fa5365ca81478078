import { changeTenant } from '../../src/command-handling/command-handlers.js';
import type { Commands } from '../../src/command-handling/commands.js';
import { TenantCommands } from '../../src/command-handling/tenant-commands.js';
import { openStreams } from '../../src/command-handling/streams.js';
import { DEFAULT_PROGRAM } from '../../src/domain/tenant/program-document.js';
import { EventCodec } from '../../src/event-log/codec.js';
import type { Core } from '../../src/stores/core.js';
import { withOpened } from '../../src/cli/command-line.js';
import { KeyedNames } from '../../src/privacy/keyed-names.js';
import { FixedSealer } from '../../src/privacy/sealed-bytes.js';
import { InMemoryEventLog } from '../support/in-memory-event-log.js';
import { InMemorySubjectKeys } from '../support/in-memory-subject-keys.js';
import { adjustLedger, metaBy } from '../support/operations.js';

/** Finished work of a command is not reported as a failure because of a later error. */

const failing = () => Promise.reject(new Error('the database is away\nand more'));

test('a store that cannot be closed after the work is noted, and the work has its result', async () => {
  const written: string[] = [];
  const err = jest
    .spyOn(process.stderr, 'write')
    .mockImplementation((text) => written.push(String(text)) > 0);
  try {
    expect(await withOpened({ close: failing }, () => Promise.resolve('done'))).toBe('done');
    await expect(
      withOpened({ close: failing }, () => Promise.reject(new Error('refused'))),
    ).rejects.toThrow('refused');
  } finally {
    err.mockRestore();
  }
  expect(written).toEqual(
    Array.from(
      { length: 2 },
      () => 'what was opened for the command could not be closed: the database is away\n',
    ),
  );
});

test('new keys of a tenant are returned although the change could not be announced', async () => {
  const streams = openStreams(new InMemoryEventLog(), new EventCodec(new InMemorySubjectKeys()));
  const names = new KeyedNames(Buffer.alloc(32, 1));
  const execute = changeTenant({ streams, names, announceTenant: failing });
  const door = { execute } as unknown as Commands;
  const actor = { kind: 'operator' as const, id: 'command-line' };
  const commands = new TenantCommands(
    door,
    streams,
    names,
    new FixedSealer(Buffer.alloc(32, 3)),
    actor,
  );
  const made = await commands.create({
    alias: 'shop',
    programType: 'API_ONLY',
    openEndpoints: false,
    program: DEFAULT_PROGRAM,
  });
  expect(made).toMatchObject({
    alias: 'shop',
    liveApiKey: expect.stringMatching(/^live_[0-9a-f]{48}$/) as unknown,
  });
  expect(await commands.rotateKeys('shop', ['live'], 0)).toEqual({
    live: expect.stringMatching(/^live_[0-9a-f]{48}$/) as unknown,
  });
});

test('a correction is answered with its own event, not with an automatic redemption that was due before it', async () => {
  const events = [
    { type: 'RewardBecameAvailable' },
    { type: 'CreditRedeemed' },
    { type: 'CreditRedeemed', adjustment: { reason: 'r' } },
  ];
  const outcome = {
    kind: 'accepted',
    events,
    eventIds: ['due', 'automatic', 'own'],
    position: 'm-9',
    replayed: false,
  };
  const commands = { execute: () => Promise.resolve(outcome) } as unknown as Core['commands'];
  const request = {
    accountId: 'a',
    userId: 'u',
    unit: 'CENTS',
    amount: -1,
    reason: 'r',
    approvedBy: 'Ada',
  };
  const names = new KeyedNames(Buffer.alloc(32, 1));
  const meta = metaBy('Sam', { names }, { tenant: 'shop', mode: 'live' });
  expect(await adjustLedger({ commands, names }, meta, request)).toEqual({
    eventId: 'own',
    position: 'm-9',
  });
});
