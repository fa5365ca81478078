import { AccountPostings, type Entry, type PostedEvent } from '../../src/bookkeeping/postings.js';
import { statementOf } from '../../src/bookkeeping/statement.js';
import type { AccountEvent } from '../../src/domain/account/account.events.js';
import {
  anAccount,
  credit,
  erasureRequested,
  partyOf,
  rewardGranted,
} from '../support/account-events.js';

const BOB = partyOf(anAccount('acme'), 'bob');
const FROM = 2_000;

const entry = (event: AccountEvent, recordedAt = event.at): Entry => ({
  event: event as PostedEvent,
  eventId: `event-${recordedAt}`,
  position: `m-${recordedAt}`,
  recordedAt,
  actor: 'system:test',
});
const granted = (rewardId: string, at: number, over = {}) =>
  entry(rewardGranted(rewardId, BOB, credit(100), { at, ...over }));

const statement = (clock: number, ...entries: readonly Entry[]) => {
  const { units } = statementOf({
    account: 'acme',
    position: null,
    entries,
    from: FROM,
    clock,
    unit: undefined,
  });
  const [{ opening, closing, lines } = { opening: 0, closing: 0, lines: [] }] = units;
  return { opening, closing, lines: lines.map(({ type, amount }) => [type, amount]) };
};

it('the credit of a forgotten person is forfeited, not cancelled', () => {
  const postings = new AccountPostings();
  postings.post(granted('w1', 1_000));
  expect(postings.post(entry(erasureRequested([BOB.person])))).toMatchObject([
    { type: 'forfeited', amount: 100, debit: 'available', credit: 'forfeited' },
  ]);
});

it('an event at the first moment of a period is a line of it, one before is in the opening', () => {
  expect(statement(FROM, granted('w1', FROM - 1), granted('w2', FROM))).toEqual({
    opening: 100,
    closing: 200,
    lines: [['issued', 100]],
  });
});

it('a date at the first moment of a period is a line of it, one before is in the opening', () => {
  const before = granted('w1', 1_000, { dateScheduledFor: FROM - 1 });
  const at = granted('w2', 1_000, { dateScheduledFor: FROM });
  expect(statement(FROM, before, at)).toEqual({
    opening: 100,
    closing: 200,
    lines: [['available', 100]],
  });
});

it('credit is expired from the moment of its date on', () => {
  const expiring = granted('w1', 1_000, { dateExpires: 3_000 });
  expect(statement(2_999, expiring)).toMatchObject({ closing: 100, lines: [] });
  expect(statement(3_000, expiring)).toEqual({
    opening: 100,
    closing: 0,
    lines: [['expired', -100]],
  });
});
