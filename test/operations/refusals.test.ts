// Over 5 s: some forty commands, which each open the stores.
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { tryGenerationsLock } from '../../src/postgres/generations-lock.js';
import { useFolder } from '../support/folder.js';
import type { CallOptions, Json } from '../support/api-client.js';
import { runHere } from '../support/command-line.js';
import { makeOperators, useService } from '../support/running-service.js';
import { openOnce } from '../support/opened.js';

/**
 * The texts of refused operations: the line and the exit code of the command line, and the status
 * and body of the answer over HTTP, word for word.
 */

const running = useService();
const folder = useFolder();
const keys = openOnce(() =>
  makeOperators(running.stores, { fay: ['finance'], sam: ['support', 'finance'] }),
);

beforeAll(async () => {
  const { alias, live } = await running.service.createTenant({ alias: 'acme' });
  expect(alias).toBe('acme');
  await live.post('/accountsync', { id: 'a', subscription: { status: 'TRIAL' } });
  await live.post('/user', { id: 'u', accountId: 'a' });
  await live.post('/rewards/account/a/user/u', {
    type: 'CREDIT',
    unit: 'CENTS',
    assignedCredit: 1_000,
  });
  await writeFile(join(folder, 'no-head.csv'), 'no such head');
});

async function typed(...words: readonly string[]): Promise<string> {
  const { code, err } = await runHere(running.stores, words);
  return `${code} ${err.trimEnd().split('\n').at(-1) ?? ''}`;
}

async function asked(
  operator: keyof typeof keys,
  path: string,
  body?: object,
  options: CallOptions = {},
): Promise<string> {
  const client = running.service.operator(keys[operator]);
  const answer = await client.call(body ? 'POST' : 'GET', `/${path}`, body, options);
  const { apiErrorCode, validationErrors, message } = answer.body;
  return `${answer.status} ${JSON.stringify([apiErrorCode, validationErrors ?? message])}`;
}

const CORRECTION = {
  account: 'a',
  user: 'u',
  unit: 'CENTS',
  reason: 'r',
  approvedBy: 'sam',
};

const ON_THE_COMMAND_LINE: readonly (readonly [typed: string, line: string])[] = [
  ['ledger statement acme a --as-of 2999-01-01', '--as-of lies in the future'],
  [
    'ledger statement acme a --as-of 2026-01-01 --position 1',
    '--as-of and --position exclude each other',
  ],
  [
    'ledger statement acme a --as-of 2026-02-31',
    '--as-of takes a time such as 2026-10-31T23:59:59Z',
  ],
  ['ledger statement acme a --to 2026-02-01 --as-of 2026-01-01', '--to lies after --as-of'],
  ['ledger statement acme a --from 2026-02-01 --to 2026-01-01', '--from lies after --to'],
  [
    'ledger statement acme a --position nowhere',
    '"nowhere" is no position of this log, nor of an event that came from another',
  ],
  [
    'ledger statement acme a --position BEYOND',
    'the position BEYOND is beyond the head of the log',
  ],
  [
    'ledger statement acme a --by _',
    '--by takes a name of 1 to 100 letters, digits, spaces or . _ @ -',
  ],
  [
    'ledger statement acme a --mode tset',
    "option '--mode <mode>' argument 'tset' is invalid. Allowed choices are live, test.",
  ],
  ['ledger statement acme missing', 'there is no account missing in acme (live)'],
  ['ledger statement none a', 'there is no tenant none'],
  ['ledger statement NONE! a', '<tenant> must be an alias: 1 to 64 of a to z, 0 to 9, _ and -'],
  ['ledger close acme --period 2999-01 --comment c', 'the period 2999-01 is not over yet'],
  ['ledger close acme --period May --comment c', '--period takes a month such as 2026-10'],
  ['ledger close acme --period 2020-01 --comment _', '--comment must not be empty'],
  ['ledger reopen acme --period 2020-02 --comment c', 'the period 2020-02 is not closed'],
  [
    'ledger adjust acme a --user u --unit CENTS --amount -5000 --reason r --approved-by b',
    'The amount 5,000 exceeds the available credit 1,000 CENTS',
  ],
  [
    'ledger adjust acme a --user missing --unit CENTS --amount 5 --reason r --approved-by b',
    'there is no user missing in account a',
  ],
  [
    'ledger adjust acme a --user u --unit CENTS --amount 9007199254740991 --reason r --approved-by b',
    'All CENTS ever assigned to the account would be more than 9,007,199,254,740,991: assign less',
  ],
  ['ledger reconcile acme --period 2999-01', 'the period 2999-01 has not begun yet'],
  [
    'ledger reconcile acme --against DIR/missing.csv',
    'cannot read DIR/missing.csv: there is no such file (ENOENT)',
  ],
  [
    'ledger reconcile acme --against DIR/no-head.csv',
    '--against must begin with the line account,unit,balance',
  ],
  ['ledger acknowledge-loss --reason r', 'nothing was lost: there is nothing to acknowledge'],
  ['projection rebuild', 'name one projection, or say --all'],
  ['projection rebuild users --all', 'name one projection, or say --all'],
  [
    'projection rebuild nothing',
    'there is no projection "nothing"; there are accounts, users, referral-codes, referrals, rewards, reward-balances, exports, daily-figures, activity',
  ],
  ['projection diff users', 'there is no new generation of users: rebuild it first'],
  ['projection swap users', 'there is no new generation of users: rebuild it first'],
  ['projection rollback users', 'there is no earlier generation of users to go back to'],
  ['projection rebuild users --tenant none', 'there is no tenant none'],
  [
    'projection rebuild users --tenant acme --account missing',
    'there is no account missing in acme (live)',
  ],
  ['policy retry 0x1', '"0x1" is no id of a parked reaction: see policy parked'],
  ['policy retry 99', 'nothing is parked under 99'],
  [
    'log copy --from somewhere --to embedded',
    '--from must be the address of a log: postgresql://…, esdb://…, or the word embedded',
  ],
];

const OVER_HTTP: readonly (readonly [called: string, body: object | undefined, line: string])[] = [
  ['ledger/acme/statement?account=a&asOf=2999-01-01', undefined, 'asOf lies in the future'],
  ['ledger/acme/close', { period: '2999-01', comment: 'c' }, 'the period 2999-01 is not over yet'],
  [
    'ledger/acme/reconciliation',
    { against: 'no such head' },
    'against must begin with the line account,unit,balance',
  ],
  ['ledger/acme/verification', { digest: {} }, 'digest is not what the digest operation answers'],
  ['projections/rebuild', {}, 'name one projection, or say all'],
  ['ledger/acme/replay?mode=test', {}, 'mode belongs in the body, not the query'],
  [
    'projections/users/skip',
    { stream: 'x', tenant: 'acme', reason: 'r' },
    'name tenant and account, or stream',
  ],
  [
    'projections/users/skip',
    { stream: 'x', reason: 'r' },
    'there is no such parked stream of users: see projection parked',
  ],
];

const CORRECTED = { ...CORRECTION, amount: 5, approvedBy: undefined };
const UNKNOWN: readonly (readonly [path: string, body: object | undefined, code: string])[] = [
  ['runs/x', undefined, 'RUN_NOT_FOUND'],
  ['ledger/unknown/replay', {}, 'TENANT_NOT_FOUND'],
  ['ledger/a%00b/verification', {}, 'TENANT_NOT_FOUND'],
  ['ledger/acme/statement?account=unknown', undefined, 'ACCOUNT_NOT_FOUND'],
  ['ledger/acme/proposals', { ...CORRECTED, account: 'unknown' }, 'ACCOUNT_NOT_FOUND'],
  ['ledger/acme/proposals', { ...CORRECTED, account: 'a', user: 'unknown' }, 'USER_NOT_FOUND'],
  ['ledger/acme/proposals/x/approval', {}, 'PROPOSAL_NOT_FOUND'],
  ['webhooks/acme/deliveries/x', undefined, 'DELIVERY_NOT_FOUND'],
  ['webhooks/acme/resend', { delivery: 'x' }, 'DELIVERY_NOT_FOUND'],
  ['mails/acme/resend', { delivery: 'x' }, 'MAIL_NOT_FOUND'],
  ['projections/nothing/diff', {}, 'PROJECTION_NOT_FOUND'],
  ['projections/users/skip', { tenant: 'unknown', account: 'a', reason: 'r' }, 'TENANT_NOT_FOUND'],
  ['projections/rebuild', { projection: 'nothing' }, 'PROJECTION_NOT_FOUND'],
  ['policies/retry', { id: 'x' }, 'REACTION_NOT_FOUND'],
  ['policies/retry', { id: '99' }, 'REACTION_NOT_FOUND'],
  ['policies/99/skip', { reason: 'ticket 7' }, 'REACTION_NOT_FOUND'],
];

const inPlaces = (text: string, position: string): string =>
  text.replaceAll('BEYOND', position).replaceAll('DIR', folder);
const beyond = async (): Promise<string> =>
  (await running.service.head())?.replace(/\d+$/, '999999') ?? '';

test('the command line prints each refusal in one line, in the words of its options, and exits with 1', async () => {
  const position = await beyond();
  for (const [words, line] of ON_THE_COMMAND_LINE) {
    const given = inPlaces(words, position).split(' ');
    expect([words, await typed(...given.map((word) => word.replace(/^_$/, ' ')))]).toEqual([
      words,
      `1 ${inPlaces(line, position)}`,
    ]);
  }
});

test('over HTTP each refusal is a bad request with the same text, in the words of the request', async () => {
  for (const [path, body, line] of OVER_HTTP) {
    const key = path.startsWith('ledger') ? 'fay' : 'sam';
    expect([path, await asked(key, path, body)]).toEqual([
      path,
      `400 ${JSON.stringify(['BAD_REQUEST', [line]])}`,
    ]);
  }
});

test('an operation on something that does not exist answers 404 with the code of it', async () => {
  for (const [path, body, code] of UNKNOWN) {
    const key = path.startsWith('ledger') ? 'fay' : 'sam';
    expect([path, await asked(key, path, body)]).toEqual([
      path,
      expect.stringContaining(`404 ["${code}",`),
    ]);
  }
  const [newest] = (await running.service.operator(keys.sam).get<Json[]>('/runs')).body;
  expect(newest).toMatchObject({ state: 'failed', error: 'nothing is parked under 99' });
});

test('a key of another correction, and one that was refused before, are refused', async () => {
  const adjusting = (amount: number, key: string) =>
    typed(
      ...'ledger adjust acme a --user u --unit CENTS --reason r --approved-by sam --by Fay'.split(
        ' ',
      ),
      ...['--amount', String(amount), '--idempotency-key', key],
    );
  const called = (amount: number, key: string) =>
    asked('fay', 'ledger/acme/adjustment', { ...CORRECTION, amount }, { key });
  expect(await adjusting(5, 'k1')).toMatch(/^0/);
  expect(await adjusting(6, 'k1')).toBe('1 the idempotency key was used for another request');
  expect(await called(6, 'k1')).toBe(
    '422 ["IDEMPOTENCY_KEY_REUSED","The Idempotency-Key \\"k1\\" was used for another request: send each new request with a new key"]',
  );
  for (const _again of [1, 2]) {
    expect(await adjusting(-5_000, 'k2')).toBe(
      '1 The amount 5,000 exceeds the available credit 1,005 CENTS',
    );
    expect(await called(-5_000, 'k3')).toBe(
      '400 ["BAD_REQUEST",["The amount 5,000 exceeds the available credit 1,005 CENTS"]]',
    );
  }
});

test('a second operation on read models has to wait, and the history has no failure', async () => {
  const line =
    'another rebuild, swap, repair or scrub is running: wait until it has ended (`projection history` says whose it is)';
  const client = await running.service.service.core.pool.connect();
  try {
    expect(await tryGenerationsLock(client)).toBe(true);
    expect(await typed('projection', 'swap', 'users')).toBe(`1 ${line}`);
    expect(await asked('sam', 'projections/swap', { projection: 'users' })).toBe(
      `400 ${JSON.stringify(['BAD_REQUEST', [line]])}`,
    );
  } finally {
    await client.query('select pg_advisory_unlock_all()');
    client.release();
  }
});

test('a refusal of the generations is in the history of the projection', async () => {
  const { rows } = await running.service.service.core.pool.query(
    `select distinct action, details->>'error' as error from ledger.projection_history
      where outcome = 'failed' order by action`,
  );
  expect(rows).toEqual([
    {
      action: 'rollback',
      error: 'GenerationRefused: there is no earlier generation of users to go back to',
    },
    {
      action: 'swap',
      error: 'GenerationRefused: there is no new generation of users: rebuild it first',
    },
  ]);
});

test('a digest on top of a seal that was not signed here is refused, with exit code 3', async () => {
  const line =
    'the newest seal of this chain was not signed by this installation: `ledger verify` says where the chain breaks';
  expect(await typed('ledger', 'digest', 'acme')).toMatch(/^0/);
  await running.service.service.core.pool.query(
    "update ledger.chain_seals set signature = '\\x00'",
  );
  expect(await typed('ledger', 'digest', 'acme')).toBe(`3 ${line}`);
  expect(await asked('fay', 'ledger/acme/digest', {})).toBe(
    `400 ${JSON.stringify(['BAD_REQUEST', [line]])}`,
  );
});
