import type { AccountOutcome } from '../../src/command-handling/commands.js';
import type { EventLog } from '../../src/event-log/event-log.js';
import type { ImportRow } from '../../src/imports/rows/import-rows.js';
import { rewardCommand } from '../../src/imports/rows/row-commands.js';
import { aRequest, SharedLedger, type TestProcess } from './support/processes.js';

/** Two runs whose rows have one id and contradict each other: one of them is recorded. */

const START = Date.now();
const USERS = { a: 'ann', b: 'bob' } as const;

function imports(
  process: TestProcess,
  accountId: keyof typeof USERS,
  over: ImportRow = {},
): Promise<AccountOutcome> {
  const of = { accountId, userId: USERS[accountId], type: 'CREDIT', unit: 'CENTS', amount: 5 };
  const { scope } = aRequest();
  return process.send(
    accountId,
    rewardCommand(process.names, scope, { id: 'w', ...of, ...over }).command,
  );
}

/** A process that stalls before it appends its first reward, until the others have done this. */
async function stalled(ledger: SharedLedger, meanwhile: () => Promise<unknown>) {
  let others: typeof meanwhile | undefined = meanwhile;
  const around = (log: EventLog): EventLog => {
    const append: EventLog['append'] = async (stream, expected, events, ...end) => {
      const first = events.some(({ type }) => type === 'RewardGranted') ? others : undefined;
      if (first) others = undefined;
      await first?.();
      return log.append(stream, expected, events, ...end);
    };
    return Object.assign(Object.create(log) as EventLog, { append });
  };
  return ledger.process({ clock: () => START, around });
}

test.each([
  ['has stalled for minutes', 3, false],
  ['stalls while another row gives the place up', 0, true],
])('a row whose run %s is not recorded next to the row of another account', async (...of) => {
  const [, minutes, isGivenUp] = of;
  const ledger = await SharedLedger.open();
  const later = await ledger.process({ clock: () => START + minutes * 60_000 });
  await later.userWithCode('a', USERS.a, 'ANN');
  await later.userWithCode('b', USERS.b, 'BOB');
  let ofOther: AccountOutcome | undefined;
  const slow = await stalled(ledger, async () => {
    if (isGivenUp) expect(await imports(later, 'a', { redeemed: 6 })).toMatchObject(REFUSED);
    ofOther = await imports(later, 'b');
  });
  expect(await imports(slow, 'a')).toMatchObject({ refused: 'ROW_DIFFERS' });
  expect(ofOther).toMatchObject({ kind: 'accepted' });
  expect([await later.rewardsOf('a'), await later.rewardsOf('b')]).toMatchObject([[], [{}]]);
});

const REFUSED = { refused: 'ROW_INVALID' };
