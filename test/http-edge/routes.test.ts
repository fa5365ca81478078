import { API, LIVE, useSampleApp } from './sample-app.js';
import { errorBody } from '../support/error-body.js';
import { sendRaw } from '../support/raw-http.js';

const it_ = useSampleApp();

async function request(target: string, method = 'GET', headers: readonly string[] = []) {
  const [answer] = await sendRaw(
    it_.port,
    `${[`${method} ${target} HTTP/1.1`, 'Host: x', 'Connection: close', `Authorization: ${LIVE.authorization}`, ...headers].join('\r\n')}\r\n\r\n`,
  );
  if (answer === undefined) throw new Error('no answer');
  return answer;
}

test.each([
  '/',
  '/nowhere',
  '/api/v1/acme',
  `${API}/nowhere`,
  `${API}/Account/1`,
  `${API}/account//user/1`,
  `/${API}/whoami`,
  `${API}//whoami`,
  '*',
  API.replace('/api', '/%61pi') + '/whoami',
  `${API}/%77hoami`,
])('%s is no route', async (target) => {
  for (const method of ['GET', 'POST', 'DELETE', 'PROPFIND']) {
    const answer = await request(target, method);
    expect([answer.status, answer.json]).toEqual([404, errorBody(404, 'NOT_FOUND')]);
  }
});

test('an absolute target is its path', async () => {
  expect((await request(`http://elsewhere${API}/whoami`)).status).toBe(200);
});

test.each([
  [`${API}/whoami`, 'POST', 'GET, HEAD'],
  [`${API}/whoami?x=1`, 'OPTIONS', 'GET, HEAD'],
  [`${API}/account/1`, 'PATCH', 'GET, HEAD, DELETE'],
  [`${API}/account/a%2Fb%20c`, 'TRACE', 'GET, HEAD, DELETE'],
  [`${API}/echo`, 'GET', 'POST'],
  ['/health/live', 'POST', 'GET, HEAD'],
])('%s has no %s: 405', async (target, method, allow) => {
  const answer = await request(target, method);
  expect(answer.status).toBe(405);
  expect(answer.headers['allow']).toBe(allow);
  expect(answer.json).toEqual(errorBody(405, 'METHOD_NOT_ALLOWED'));
});

test('HEAD is GET without its body', async () => {
  const response = await fetch(`${it_.origin}${API}/whoami`, { method: 'HEAD', headers: LIVE });
  expect([response.status, await response.text()]).toEqual([200, '']);
  const wrong = await fetch(`${it_.origin}${API}/echo`, { method: 'HEAD', headers: LIVE });
  expect([wrong.status, wrong.headers.get('allow'), await wrong.text()]).toEqual([405, 'POST', '']);
  const missing = await fetch(`${it_.origin}/nowhere`, { method: 'HEAD' });
  expect(missing.status).toBe(404);
});

test('a trailing slash is ignored', async () => {
  expect((await request(`${API}/account/a/user/b/`)).json).toEqual({ accountId: 'a', userId: 'b' });
  expect((await request('/health/live/')).status).toBe(200);
});

test.each([
  ['ann@example.com', 'ann%40example.com'],
  ['ann@example.com', 'ann@example.com'],
  ['a+b', 'a+b'],
  ['%2F', '%252F'],
  ['é😀', '%C3%A9%F0%9F%98%80'],
  ['..', '%2E%2E'],
  ['😀'.repeat(255), '%F0%9F%98%80'.repeat(255)],
])('the id %s arrives decoded', async (id, encoded) => {
  const answer = await request(`${API}/account/${encoded}/user/${encoded}`);
  expect([answer.status, answer.json]).toEqual([200, { accountId: id, userId: id }]);
});

test.each([
  '%00',
  '%0A',
  '%C2%85',
  'x'.repeat(256),
  '%F0%9F%98%80'.repeat(256),
  '%zz',
  '%',
  '%ff',
  '%ED%A0%80',
])('the id %s is malformed: 400', async (encoded) => {
  for (const target of [`${API}/account/${encoded}`, `${API}/account/ok/user/${encoded}`]) {
    const answer = await request(target);
    expect([answer.status, answer.json]).toEqual([400, errorBody(400, 'BAD_REQUEST')]);
  }
});

test.each(['a-b', '%00', 'x'.repeat(16), 'é'])('the code %s cannot be one: 404', async (code) => {
  expect(
    (await request(`${API}/code/${encodeURIComponent(decodeURIComponent(code))}`)).json,
  ).toMatchObject({
    statusCode: 404,
    apiErrorCode: 'REFERRAL_CODE_NOT_FOUND',
  });
});

test('a target of 16 KiB is judged by its content, a longer one is 414', async () => {
  expect((await request(`${API}/list?${'x'.repeat(16_000)}=1`)).status).toBe(200);
  const longer = await request(`${API}/list?${'x'.repeat(17_000)}=1`);
  expect([longer.status, longer.json]).toEqual([
    414,
    { ...errorBody(414, 'BAD_REQUEST'), validationErrors: [] },
  ]);
});

test.each([
  ['', { limit: 10, offset: 0, date: null }],
  ['?limit=&offset=', { limit: 10, offset: 0, date: null }],
  ['?limit=0&offset=7', { limit: 0, offset: 7, date: null }],
  ['?limit=1000&unknown=x&unknown=y', { limit: 1000, offset: 0, date: null }],
  ['?date=1,2', { limit: 10, offset: 0, date: { from: 1, to: 2 } }],
  ['?constructor=1&__proto__=2&toString=3', { limit: 10, offset: 0, date: null }],
])('the query %s', async (query, expected) => {
  const answer = await request(`${API}/list${query}`);
  expect([answer.status, answer.json]).toEqual([200, expected]);
});

test.each([
  'limit=1001',
  'limit=1.5',
  'limit=1e2',
  'limit=%zz',
  'limit=1&limit=2',
  'offset=-1',
  'date=1,2,3',
])('the query %s: 400', async (query) => {
  const answer = await request(`${API}/list?${query}`);
  expect([answer.status, answer.json]).toMatchObject([
    400,
    {
      apiErrorCode: 'BAD_REQUEST',
      validationErrors: [expect.stringMatching(/^(limit|offset|date) /)],
    },
  ]);
});
