import { knownRoutes } from '../support/known-routes.js';
import { OPERATOR_ROUTES } from '../support/operator-routes.js';
import {
  errorBody,
  useSharedService,
  type TestTenant,
  useTenant,
} from '../support/running-service.js';
import { basic } from '../support/api-client.js';
import { token } from '../support/user-tokens.js';

/**
 * Who may call what: every route that the router knows, with every kind of credentials, with the
 * open endpoints on and off. A route without a row fails. Over 5 s: some 1,500 requests.
 */

/**
 * The refusal of a caller, or `-` for none; then the row has the route's answer. For open endpoints
 * with the switch on.
 */
type Verdict = 401 | 403 | '-';

const KINDS = [
  ...([
    'none',
    'live key',
    'test key',
    'wrong key',
    "another tenant's key",
    'live read token',
    'live write token',
    'test read token',
  ] as const),
  ...([
    'test write token',
    'token signed with the key',
    'bearer token',
    "another user's token",
    "another account's token",
    'anonymous token',
    'expired token',
  ] as const),
  ...([
    "another tenant's token",
    'token of another tenant in sub',
    'unsigned token',
    'bad token with a key',
    'two tokens',
  ] as const),
] as const;
type Kind = (typeof KINDS)[number];

/* eslint-disable max-len -- a table */

/** One column per kind, in their order. */
const VERDICTS = {
  // prettier-ignore
  open:     ['-', '-', '-', '-', '-',   '-', '-', '-', '-',   '-', '-', '-', '-', '-',   '-', '-', '-', '-', '-', '-'],
  // prettier-ignore
  operator: [401, 401, 401, 401, 401,   401, 401, 401, 401,   401, 401, 401, 401, 401,   401, 401, 401, 401, 401, 401],
  // prettier-ignore
  key:      [401, '-', '-', 401, 401,   401, 401, 401, 401,   401, 401, 401, 401, 401,   401, 401, 401, 401, 401, 401],
  // prettier-ignore
  keyOpen:  [401, '-', '-', 401, 401,   401, 401, 401, 401,   401, 401, 401, 401, 401,   401, 401, 401, 401, 401, 401],
  // prettier-ignore
  reading:  [401, '-', '-', 401, 401,   '-', '-', '-', '-',   '-', '-', 403, 403, 403,   401, 401, 401, 401, 401, 401],
  // prettier-ignore
  writing:  [401, '-', '-', 401, 401,   403, '-', 403, '-',   '-', '-', 403, 403, 403,   401, 401, 401, 401, 401, 401],
  // prettier-ignore
  visiting: [401, '-', '-', 401, 401,   '-', '-', '-', '-',   '-', '-', '-', '-', '-',   401, 401, 401, 401, 401, 401],
  // prettier-ignore
  anyone:   ['-', '-', '-', 401, 401,   '-', '-', '-', '-',   '-', '-', '-', '-', 403,   401, 401, 401, 401, 401, 401],
} as const satisfies Record<string, readonly Verdict[]>;
type Access = keyof typeof VERDICTS;

/**
 * Who may call; what the route answers to who may; the path, where it is not that of the user `u`
 * of the account `a`.
 */
type Row = readonly [Access, number, string?];

const T = '/api/v1/{tenantAlias}';
const USER = `${T}/account/{accountId}/user/{userId}`;
const OPEN_USER = `${T}/open/account/{accountId}/user/{userId}`;
const THEME = `${T}/theme/{locale}/variables/instance`;
const ROWS: Readonly<Record<string, Row>> = {
  [`POST ${T}/accountsync`]: ['key', 400],
  [`GET ${T}/account/{accountId}`]: ['key', 200],
  [`GET ${T}/account/{accountId}/reward`]: ['key', 200],
  [`POST ${T}/user`]: ['key', 400],
  [`GET ${T}/user`]: ['key', 400],
  [`GET ${T}/users`]: ['key', 200],
  [`GET ${USER}`]: ['key', 200],
  [`GET ${USER}/sharelinks`]: ['key', 200],
  [`GET ${USER}/shareurls`]: ['key', 200],
  [`GET ${USER}/pii`]: ['key', 200],
  [`POST ${USER}/block`]: ['key', 404, '/account/a/user/missing/block'],
  [`POST ${USER}/unblock`]: ['key', 404, '/account/a/user/missing/unblock'],
  [`GET ${T}/code/{code}`]: ['key', 404],
  [`GET ${T}/referrals`]: ['key', 200],
  [`GET ${T}/referrals/{referralId}`]: ['key', 404],
  [`POST ${T}/referrals/moderate`]: ['key', 400],
  [`GET ${T}/reward`]: ['key', 400],
  [`GET ${T}/reward/balance`]: ['key', 400],
  [`GET ${T}/reward/{id}`]: ['key', 404],
  [`POST ${T}/reward/{id}/cancel`]: ['key', 404],
  [`POST ${T}/credit/bulkredeem`]: ['key', 400],
  [`POST ${T}/credit/{id}/redeem`]: ['key', 400],
  [`POST ${T}/rewards/account/{accountId}/user/{userId}`]: ['key', 400],
  [`GET ${T}/discount/{code}`]: ['key', 404],
  [`POST ${T}/discount`]: ['key', 400],
  [`GET ${T}/account/{accountId}/discount`]: ['key', 200],
  [`POST ${T}/export`]: ['key', 400],
  [`GET ${T}/export/history/list`]: ['key', 200],
  [`GET ${T}/export/{exportId}`]: ['key', 404, '/export/nobodys'],
  [`GET ${T}/export/{exportId}/download`]: ['key', 404, '/export/nobodys/download'],
  [`POST ${T}/subscription`]: ['key', 400],
  [`GET ${T}/subscription`]: ['key', 200],
  [`DELETE ${T}/subscription/{url}`]: ['key', 404, '/subscription/nobodys'],
  [`POST ${T}/subscription/{url}/test`]: ['key', 404, '/subscription/nobodys/test'],
  [`GET ${T}/theme/variables/schema`]: ['key', 200],
  [`GET ${T}/theme/variables/instance`]: ['key', 200],
  [`PUT ${T}/theme/variables/instance`]: ['key', 400],
  [`PATCH ${T}/theme/variables/instance`]: ['key', 400],
  [`GET ${THEME}`]: ['key', 200, '/theme/fr/variables/instance'],
  [`PUT ${THEME}`]: ['key', 400, '/theme/fr/variables/instance'],
  [`PATCH ${THEME}`]: ['key', 400, '/theme/fr/variables/instance'],
  [`DELETE ${THEME}`]: ['key', 404, '/theme/fr/variables/instance'],
  [`POST ${T}/theme/email/{type}/preview`]: ['key', 404, '/theme/email/none/preview'],
  [`PUT ${OPEN_USER}`]: ['writing', 200],
  [`POST ${OPEN_USER}`]: ['writing', 400],
  [`GET ${OPEN_USER}`]: ['reading', 200],
  [`DELETE ${OPEN_USER}`]: ['keyOpen', 404, '/open/account/a/user/missing'],
  [`DELETE ${T}/open/account/{accountId}`]: ['keyOpen', 404, '/open/account/missing'],
  [`GET ${OPEN_USER}/shareurls`]: ['reading', 200],
  [`POST ${OPEN_USER}/events`]: ['reading', 400],
  [`POST ${T}/open/code/{code}/account/{accountId}/user/{userId}`]: ['writing', 404],
  [`GET ${T}/open/referrals`]: [
    'reading',
    200,
    '/open/referrals?referredAccountId=a&referredUserId=u',
  ],
  [`PUT ${T}/open/user/cookie_user`]: ['visiting', 200],
  [`GET ${T}/open/user`]: ['anyone', 404, '/open/user?referralCode=NOBODYHASIT'],
  [`GET ${T}/open/code/{code}`]: ['anyone', 404],
  'POST /integrations/stripe/{tenantAlias}': ['open', 404],
  'GET /s/{tenantAlias}/{code}': ['open', 404],
  'GET /s/{tenantAlias}/test/{code}': ['open', 404],
  'GET /mail/unsubscribe/{tenantAlias}/{token}': ['open', 404],
  'POST /mail/unsubscribe/{tenantAlias}/{token}': ['open', 404],
  'GET /r/{tenantAlias}/{code}': ['open', 404],
  'GET /r/{tenantAlias}/test/{code}': ['open', 404],
  ...Object.fromEntries(
    Object.keys(OPERATOR_ROUTES).map((route): [string, Row] => [route, ['operator', 200]]),
  ),
  'GET /health/live': ['open', 200],
  'GET /health/ready': ['open', 200],
  'GET /metrics': ['open', 200],
  'GET /.well-known/jwks.json': ['open', 200],
  'GET /openapi.json': ['open', 200],
  'GET /': ['open', 200],
  'GET /docs': ['open', 200],
  'GET /docs/start.js': ['open', 200],
  'GET /docs/errors': ['open', 200],
  'GET /docs/reference.css': ['open', 200],
  'GET /docs/viewer.js': ['open', 200],
};

function fieldsOf(
  tenant: TestTenant,
  other: TestTenant,
): Readonly<Record<Kind, Readonly<Record<string, string>>>> {
  const me = { accountId: 'a', id: 'u' };
  const writing = { user: { ...me, firstName: 'Ann' } };
  const key = (credentials: string) => ({ authorization: basic(`:${credentials}`) });
  const own = (value: string) => ({ 'x-saasquatch-user-token': value });
  const live = (claims: object) => token(tenant.liveSecret, claims);
  return {
    none: {},
    'live key': key(tenant.liveKey),
    'test key': key(tenant.testKey),
    'wrong key': key('wrong'),
    "another tenant's key": key(other.liveKey),
    'live read token': own(live({ user: me })),
    'live write token': own(live(writing)),
    'test read token': own(token(tenant.testSecret, { user: me })),
    'test write token': own(token(tenant.testSecret, writing)),
    'token signed with the key': own(token(tenant.liveKey, writing)),
    'bearer token': { authorization: `Bearer ${live(writing)}` },
    "another user's token": own(live({ user: { ...writing.user, id: 'another' } })),
    "another account's token": own(live({ user: { ...writing.user, accountId: 'other' } })),
    'anonymous token': own(live({ authentication: 'unauthenticated' })),
    'expired token': own(live({ ...writing, exp: 1 })),
    "another tenant's token": own(token(other.liveSecret, writing)),
    'token of another tenant in sub': own(live({ sub: `a:u@${other.alias}:users` })),
    'unsigned token': own(
      `${Buffer.from('{"alg":"none"}').toString('base64url')}.${live(writing).split('.')[1] ?? ''}.`,
    ),
    'bad token with a key': { ...key(tenant.liveKey), ...own('x.y.z') },
    'two tokens': { authorization: `Bearer ${live({ user: me })}`, ...own(live(writing)) },
  };
}

const running = useSharedService();
const { service } = running;
let tenants: Readonly<Record<'on' | 'off', TestTenant>>;
const other = useTenant(running);
beforeAll(async () => {
  tenants = {
    on: await service.createTenant(),
    off: await service.createTenant({ openEndpoints: false }),
  };
  for (const tenant of Object.values(tenants)) {
    for (const client of [tenant.live, tenant.test]) {
      await client.post('/accountsync', { id: 'a', subscription: { status: 'TRIAL' } });
      expect(
        (await client.post('/user', { id: 'u', accountId: 'a', firstName: 'Ann' })).status,
      ).toBe(200);
    }
  }
});

test('every route of the router has a row, and no other', () => {
  expect(Object.keys(ROWS).sort()).toStrictEqual(
    [...new Set(knownRoutes(service).map((route) => route.replace(/(\S)\/$/, '$1')))].sort(),
  );
});

/** For all routes but one of each access and state of the switch, which gets every kind. */
const SOME_KINDS: readonly Kind[] = [
  'none',
  'live key',
  'wrong key',
  'live read token',
  'live write token',
  "another user's token",
  'anonymous token',
  'expired token',
];
const seen = new Set<string>();
function kindsFor([access]: Row, open: string): readonly Kind[] {
  const known = seen.size;
  return seen.add(`${access} ${open}`).size > known ? KINDS : SOME_KINDS;
}

const expected = ([access, answer]: Row, kind: Kind, isOn: boolean): number => {
  const verdict = VERDICTS[access][KINDS.indexOf(kind)];
  const isClosed = !isOn && !['open', 'operator', 'key'].includes(access);
  if (verdict === undefined) throw new Error('a kind of credentials has no verdict');
  if (verdict === 401) return 401;
  return isClosed ? 403 : verdict === '-' ? answer : verdict;
};

const SECURITY: Readonly<Record<Access, readonly object[]>> = {
  open: [],
  operator: [{ operatorKey: [] }],
  key: [{ apiKey: [] }],
  keyOpen: [{ apiKey: [] }],
  reading: [{ apiKey: [] }, { userToken: [] }, { bearerToken: [] }],
  writing: [{ apiKey: [] }, { userToken: [] }, { bearerToken: [] }],
  visiting: [{ apiKey: [] }, { userToken: [] }, { bearerToken: [] }],
  anyone: [{}, { apiKey: [] }, { userToken: [] }, { bearerToken: [] }],
};

test('the description has every route but its own, and states who may call it', () => {
  const described = Object.entries(service.description.paths).flatMap(([template, item]) =>
    Object.entries(item as Record<string, { security: unknown }>).map(
      ([method, { security }]): [string, unknown] => [
        `${method.toUpperCase()} ${template}`,
        security,
      ],
    ),
  );
  const expected = Object.entries(ROWS).flatMap(([route, [access]]) =>
    /^GET \/(docs.*|openapi\.json)?$/.test(route) ? [] : [[route, SECURITY[access]]],
  );
  expect(Object.fromEntries(described)).toStrictEqual(Object.fromEntries(expected));
});

describe.each(['on', 'off'] as const)('with the open endpoints %s', (open) => {
  // Without credentials of a tenant the switch means nothing.
  const rows = Object.entries(ROWS).filter(
    ([, [access]]) => open === 'on' || !['open', 'operator'].includes(access),
  );
  test.each(rows)('%s', async (route, row) => {
    const [method = '', template = ''] = route.split(' ');
    const tenant = tenants[open];
    const fields = fieldsOf(tenant, other);
    const path = row[2] ?? template.replace(T, '');
    const target = template.startsWith(T)
      ? `/api/v1/${tenant.alias}${path}`
      : path.replace('{tenantAlias}', tenant.alias);
    const url =
      service.origin +
      target
        .replace('{accountId}', 'a')
        .replace('{userId}', 'u')
        .replace(/\{\w+\}/g, 'NOBODYHASIT');
    const call = async (kind: Kind): Promise<[Kind, number]> => {
      const response = await fetch(url, { method, headers: fields[kind], redirect: 'manual' });
      const text = await response.text();
      // Whatever is wrong with a token, the answer is the same.
      if (
        response.status === 401 &&
        row[0] !== 'operator' &&
        'x-saasquatch-user-token' in fields[kind]
      ) {
        const rsCode = row[0] === 'key' || row[0] === 'keyOpen' ? 'RS045' : 'RS032';
        expect(JSON.parse(text)).toStrictEqual(errorBody(401, 'UNAUTHORIZED', rsCode));
        expect(response.headers.get('www-authenticate')).toMatch(/^Basic /);
      }
      return [kind, response.status];
    };
    const kinds = kindsFor(row, open);
    const answers = await Promise.all(kinds.map(call));
    expect(answers).toStrictEqual(kinds.map((kind) => [kind, expected(row, kind, open === 'on')]));
  });
});
