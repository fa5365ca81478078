import { randomBytes } from 'node:crypto';
import { PostgresAnswerRows } from '../../src/idempotency/answer-rows.js';
import { StoredAnswers } from '../../src/idempotency/stored-answers.js';
import { purgeAnswers } from '../../src/idempotency/purge-answers.js';
import { ProcessPresence } from '../../src/postgres/process-presence.js';
import { FixedSealer } from '../../src/privacy/sealed-bytes.js';
import { useDatabase } from '../support/database.js';
import { InMemorySubjectKeys } from '../support/in-memory-subject-keys.js';
import { eventually } from '../support/embedded.js';

const REQUEST = {
  scope: { tenant: 'demo', mode: 'live' },
  key: 'key',
  fingerprint: 'fingerprint',
} as const;

const presences: ProcessPresence[] = [];
const process = async (sealingKey: Buffer): Promise<StoredAnswers> => {
  const presence = new ProcessPresence(pool);
  await presence.start();
  presences.push(presence);
  return new StoredAnswers(
    new PostgresAnswerRows(pool, presence),
    new FixedSealer(sealingKey),
    new InMemorySubjectKeys(),
  );
};

afterAll(async () => {
  for (const presence of presences) await presence.stop();
});
const { pool } = useDatabase(12);

it('a key whose request got no answer is for that request only, in every process', async () => {
  const sealingKey = randomBytes(32);
  const [one, other] = [await process(sealingKey), await process(sealingKey)];
  const first = await one.claim(REQUEST);
  expect(first).toMatchObject({ commandId: expect.any(String) as string });
  one.abandon(REQUEST);
  // Given back in the background: until then it looks as if it were still running.
  await eventually(async () => {
    const { rowCount } = await pool.query('select from ledger.idempotency_keys where owner <> 0');
    return rowCount === 0;
  });

  const different = { ...REQUEST, fingerprint: 'another' };
  for (const process of [one, other]) {
    expect(await process.claim(different)).toEqual({ refused: 'IDEMPOTENCY_KEY_REUSED' });
  }
  // The same command, in whichever process: what it did may be in the log.
  expect(await other.claim(REQUEST)).toMatchObject({
    commandId: 'commandId' in first ? first.commandId : '',
  });
  expect(await one.claim(REQUEST)).toEqual({ refused: 'REQUEST_IN_PROGRESS' });
  const answer = { status: 200, body: { done: true }, position: null };
  await other.keep(REQUEST, answer);
  expect(await one.claim(REQUEST)).toEqual({ answer });
});

const keyed = (key: string) => ({ ...REQUEST, key });
const age = (key: string, days: number) =>
  pool.query(
    'update ledger.idempotency_keys set created_at = created_at - make_interval(days => $2) where key = $1',
    [key, days],
  );
const commandOf = async (requests: StoredAnswers, key: string): Promise<string> => {
  const claimed = await requests.claim(keyed(key));
  if (!('commandId' in claimed)) throw new Error('it was answered before');
  return claimed.commandId;
};
const dies = (key: string) =>
  pool.query('update ledger.idempotency_keys set owner = 0 where key = $1', [key]);

it('the command of a key is another one once the row is gone, or once it is older than an effect answers for its key', async () => {
  const key = randomBytes(32);
  const [one, two, three, four] = [
    await process(key),
    await process(key),
    await process(key),
    await process(key),
  ];
  const first = await commandOf(one, 'aged');
  await age('aged', 6);
  await dies('aged');
  expect(await commandOf(two, 'aged')).toBe(first);
  await age('aged', 2);
  await dies('aged');
  const second = await commandOf(three, 'aged');
  expect(second).not.toBe(first);
  // From now on it is the new one's.
  expect(await purgeAnswers(pool)).toBe(0);
  await pool.query("delete from ledger.idempotency_keys where key = 'aged'");
  expect([first, second]).not.toContain(await commandOf(four, 'aged'));
});

it('the command of a key is answered for its whole time from the answer on, however late that was', async () => {
  const one = await process(randomBytes(32));
  await commandOf(one, 'late');
  await age('late', 7);
  await one.keep(keyed('late'), { status: 200, body: { done: true }, position: null });
  await age('late', 7);
  expect(await purgeAnswers(pool)).toBe(0);
  expect(await one.claim(keyed('late'))).toMatchObject({ answer: { body: { done: true } } });
  await age('late', 2);
  expect(await purgeAnswers(pool)).toBe(1);
});
