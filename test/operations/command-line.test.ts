import type { Core } from '../../src/stores/core.js';
import { withOpened } from '../../src/cli/command-line.js';
import { KeyedNames } from '../../src/privacy/keyed-names.js';
import { adjustLedger, metaBy } from '../support/operations.js';

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
