import { openImportFile } from '../../src/imports/files/import-file.js';
import type { ImportKind } from '../../src/imports/rows/import-rows.js';

interface Given {
  readonly kind?: ImportKind;
  readonly map?: Readonly<Record<string, string>>;
  readonly piece?: number;
}

async function opened(content: string | Buffer, { kind = 'users', map = {}, piece = 7 }: Given) {
  const bytes = Buffer.from(content);
  return openImportFile(kind, new Map(Object.entries(map)), async function* () {
    for (let from = 0; from < bytes.length; from += piece)
      yield await Promise.resolve(bytes.subarray(from, from + piece));
  });
}

async function read(content: string | Buffer, given: Given = {}) {
  const file = await opened(content, given);
  const rows = [];
  for await (const row of file.rows()) rows.push(row);
  return { file, rows };
}

/** The typed values of each row, or why it is rejected. */
const valuesOf = async (content: string, given: Given = {}) =>
  (await read(content, given)).rows.map(({ read: row }) =>
    'values' in row ? row.values : row.reason,
  );

const faultOf = (content: string | Buffer, given: Given = {}): Promise<string> =>
  read(content, given).then(
    () => 'it was read',
    (error: unknown) => String(error).replace(/^FileFault: /, ''),
  );

test('a row of CSV has the values of its columns, typed', async () => {
  const users = `id,accountId,dateCreated,segments,blocked,customFields.plan,email
u1,a1,2024-03-01,vip  new,true,gold,
u2,a1,1709251200000,,false,,"A ""B"" <a@b.example>"
`;
  expect(await valuesOf(users)).toEqual([
    {
      id: 'u1',
      accountId: 'a1',
      dateCreated: 1709251200000,
      segments: ['vip', 'new'],
      blocked: true,
      customFields: new Map([['plan', 'gold']]),
    },
    {
      id: 'u2',
      accountId: 'a1',
      dateCreated: 1709251200000,
      blocked: false,
      email: 'A "B" <a@b.example>',
    },
  ]);
});

test('semicolons, a byte order mark, CRLF and blank lines are read, and a row has its line', async () => {
  const file =
    '\uFEFFid;accountId;lastName\r\n\r\nu1;a1;"two\r\nlines"\r\n  \r\nu2;a2;x\r\n\nu3;a3;';
  const { rows } = await read(file);
  expect(rows.map(({ line, read: row }) => [line, row])).toEqual([
    [3, { values: { id: 'u1', accountId: 'a1', lastName: 'two\r\nlines' } }],
    [6, { values: { id: 'u2', accountId: 'a2', lastName: 'x' } }],
    [8, { values: { id: 'u3', accountId: 'a3' } }],
  ]);
});

test('JSON lines are named like the columns, and custom fields keep their types', async () => {
  const lines = [
    '{"id":7,"accountId":"a","segments":["a b","c"],"customFields":{"n":1.5,"t":"x","no":null,"b":true}}',
    '',
    '{"id":"u","accountId":"a","customFields.n":2,"email":null,"firstName":"","blocked":"true"}',
  ];
  expect(await valuesOf(lines.join('\n'))).toEqual([
    {
      id: '7',
      accountId: 'a',
      segments: ['a b', 'c'],
      customFields: new Map<string, unknown>([
        ['n', 1.5],
        ['t', 'x'],
        ['b', true],
      ]),
    },
    { id: 'u', accountId: 'a', customFields: new Map([['n', 2]]), blocked: true },
  ]);
});

const USER_EXPORT =
  'id,accountId,email,firstName,lastName,imageUrl,firstSeenIP,lastSeenIP,dateCreated,emailHash,referralSource,locale,shareLink,facebookShareLink,twitterShareLink,emailShareLink,linkedinShareLink,referralCode,segments';

test('the columns after those of a USER export are custom fields, but for mapped ones', async () => {
  const file = `${USER_EXPORT},plan,customFields.email,blocked\nu,a${','.repeat(17)},gold,x,true\n`;
  const row = { id: 'u', accountId: 'a' };
  const custom = new Map([
    ['plan', 'gold'],
    ['email', 'x'],
  ]);
  expect(await valuesOf(file)).toEqual([
    { ...row, customFields: new Map([...custom, ['blocked', 'true']]) },
  ]);
  expect(await valuesOf(file, { map: { blocked: 'blocked' } })).toEqual([
    { ...row, blocked: true, customFields: custom },
  ]);
});

test('a REWARD export is a file of rewards', async () => {
  const file = `id,type,userId,accountId,unit,amount,rewardSource,dateGiven,dateExpires,dateCancelled,redeemedCredit,availableCredit,currency,name,programId,dateScheduledFor
1,CREDIT,u,a,CENTS,500,MANUAL,1709251200000,,,200,300,USD,,,
`;
  const { file: opened, rows } = await read(file, { kind: 'rewards' });
  expect(opened.columns.ignored()).toBeUndefined();
  expect(rows.map(({ read: row }) => row)).toEqual([
    {
      values: {
        id: '1',
        type: 'CREDIT',
        userId: 'u',
        accountId: 'a',
        unit: 'CENTS',
        amount: 500,
        redeemed: 200,
        rewardSource: 'MANUAL',
        dateGiven: 1709251200000,
        currency: 'USD',
      },
    },
  ]);
});

test('an apostrophe that an export puts before a formula is removed, and no other one', async () => {
  const file = `id,accountId,firstName,lastName,email\n'=u,'-1,'-x,'t Hooft,'＝a\n`;
  expect(await valuesOf(file)).toEqual([
    { id: '=u', accountId: "'-1", firstName: '-x', lastName: "'t Hooft", email: '＝a' },
  ]);
  expect(await valuesOf(`{"id":"'=u","accountId":"a"}`)).toEqual([{ id: "'=u", accountId: 'a' }]);
});

test('unknown columns are named and ignored, known ones of exports only ignored', async () => {
  const { file } = await read('id,accountId,shareLink,phone,,customFields\nu,a,x,1,,{}\n');
  expect(file.columns.ignored()).toBe('ignored columns: phone, customFields');
  const json = await read('{"id":"u","accountId":"a","phone":1,"emailHash":"x"}');
  expect(json.file.columns.ignored()).toBe('ignored columns: phone');
});

test.each([
  [
    'a date in seconds',
    'dateCreated',
    '1709251200',
    'dateCreated must be 2000-01-01 or later: write milliseconds, not seconds',
  ],
  [
    'a date that is none',
    'dateCreated',
    '2024-02-30',
    'dateCreated must be a date: epoch milliseconds or ISO 8601',
  ],
  ['a boolean that is none', 'blocked', 'yes', 'blocked must be true or false'],
  [
    'a removed segment',
    'segments',
    'a ~b',
    'segments must not begin with ~: a row names those that are there',
  ],
  [
    'a custom field __proto__',
    'customFields.__proto__',
    'x',
    'customFields.__proto__ is not allowed',
  ],
])('%s rejects the row', async (_, column, value, reason) => {
  expect(await valuesOf(`id,accountId,${column}\nu,a,${value}\nv,a,\n`)).toEqual([
    `BAD_REQUEST: ${reason}`,
    { id: 'v', accountId: 'a' },
  ]);
});

test.each([
  ['1.5', 'amount must be a whole number up to 9007199254740991'],
  ['9007199254740992', 'amount must be a whole number up to 9007199254740991'],
])('an amount of %s rejects the row', async (amount, reason) => {
  const file = `type,accountId,userId,amount\nCREDIT,a,u,${amount}\n`;
  expect(await valuesOf(file, { kind: 'rewards' })).toEqual([`BAD_REQUEST: ${reason}`]);
});

test('rows without a required value, with other cells than the header, and lines without an object are rejected', async () => {
  expect(await valuesOf('id,accountId\nu\nu,a,x\n,a\n')).toEqual([
    'BAD_REQUEST: the row has 1 cells, the header 2',
    'BAD_REQUEST: the row has 3 cells, the header 2',
    'BAD_REQUEST: id is required',
  ]);
  expect(
    await valuesOf(
      '{"id":"u"}\n[1]\n{"id":\n{"id":9007199254740993,"accountId":"a"}\n{"id":{},"accountId":"a"}',
    ),
  ).toEqual([
    'BAD_REQUEST: accountId is required',
    'BAD_REQUEST: the line is no JSON object',
    'BAD_REQUEST: the line is no JSON object',
    'BAD_REQUEST: id is an integer beyond 2^53-1 and would be rounded: send it as a string',
    'BAD_REQUEST: id must be a text',
  ]);
});

test('a referral of a deleted person has empty columns of the referrer', async () => {
  const file = 'referredAccount,referredUser,referrerAccount,referrerUser\na,u,,\n';
  expect(await valuesOf(file, { kind: 'referrals' })).toEqual([
    { referredAccount: 'a', referredUser: 'u' },
  ]);
});

const broken = (...parts: (string | number[])[]): Buffer =>
  Buffer.concat(parts.map((part) => Buffer.from(part as string)));

test.each<[string, string | Buffer, string, Given?]>([
  [
    'bytes that are no UTF-8',
    broken('id,accountId\nu,a\nü,', [0xc3], '\n'),
    'line 3 is not valid UTF-8; save the file as UTF-8',
  ],
  ['NUL', 'id,accountId\nu,a\n\0,a\n', 'line 3 holds a NUL character'],
  [
    'a lone surrogate in JSON',
    '{"id":"u","accountId":"a"}\n{"id":"\\ud800"}',
    'line 2 holds a NUL character or half a surrogate pair',
  ],
  ['NUL in JSON', '{"id":"\\u0000"}', 'line 1 holds a NUL character or half a surrogate pair'],
  [
    'a quote that is not closed',
    'id,accountId\nu,a\n"v,a\nw,a\n',
    'row 3, with the header as row 1, has a quote that is not closed',
  ],
  [
    'text after a closing quote',
    'id,accountId\n"u"x,a\n',
    'row 2, with the header as row 1, has text after a closing quote',
  ],
  ['nothing', '', 'the file is empty'],
  ['blank lines alone', '\uFEFF\n \n', 'the file is empty'],
  [
    'a header without a required column',
    'id,email\n',
    'the header has no column accountId; --map names another',
  ],
  ['a column twice', 'id,accountId,x,x\n', 'the header has "x" twice'],
  [
    'a field twice by --map',
    'id,accountId,email,Mail\n',
    'the header has "email" twice',
    { map: { Mail: 'email' } },
  ],
  [
    'a --map of an unknown column',
    'id,accountId\n',
    'the file has no column "Mail" to map',
    { map: { Mail: 'email' } },
  ],
  [
    'a --map of an unknown column in JSON',
    '{"id":"u","accountId":"a"}',
    'the file has no column "Mail" to map',
    { map: { Mail: 'email' } },
  ],
  ['a --map to an unknown field', 'id,accountId\n', 'id cannot be mail', { map: { id: 'mail' } }],
])('a file with %s is refused', async (...[, content, fault, given]) => {
  for (const piece of [1, 5, 1_000])
    expect(await faultOf(content, { ...given, piece })).toMatch(
      new RegExp(`^${fault.replaceAll(/[.*+?^$()]/g, '\\$&')}`),
    );
});

test('rejected rows are in the format and order of the file, with line and reason', async () => {
  const csv = await read('b;id;accountId\n"x;y";=1+1;\n');
  expect(csv.file.rejectedHead).toBe('b;id;accountId;line;reason\n');
  expect(csv.rows.map((row) => row.rejected('BAD_REQUEST: no'))).toEqual([
    `"x;y";'=1+1;;2;BAD_REQUEST: no\n`,
  ]);
  const json = await read('\n{"accountId":"a","id":"u"}\nno\n');
  expect(json.file.rejectedHead).toBe('');
  expect(json.rows.map((row) => row.rejected('BAD_REQUEST: no'))).toEqual([
    '{"accountId":"a","id":"u","line":2,"reason":"BAD_REQUEST: no"}\n',
    '{"text":"no","line":3,"reason":"BAD_REQUEST: no"}\n',
  ]);
});

test('a file of rejected rows can be imported again, and has its line and reason once', async () => {
  const { file, rows } = await read('id,accountId,line,reason\nu,a,2,BAD_REQUEST: no\n');
  expect(file.rejectedHead).toBe('id,accountId,line,reason\n');
  expect(rows.map((row) => row.rejected('again'))).toEqual(['u,a,2,again\n']);
});

test('any text of an export comes back as it is', async () => {
  const { csvLines } = await import('../../src/exports/files/csv-lines.js');
  const texts = [
    '=1',
    '-',
    '-5',
    '+49 30',
    '"',
    'a;b',
    '@x',
    '\ttab',
    '+012345-01-01T00:00Z',
    '＋1',
  ];
  const file = csvLines([['id', 'accountId', 'name'], ...texts.map((text) => ['u', 'a', text])]);
  const rows = await valuesOf(file.replace('name', 'customFields.name'));
  expect(rows).toEqual(
    texts.map((text) => ({ id: 'u', accountId: 'a', customFields: new Map([['name', text]]) })),
  );
});
