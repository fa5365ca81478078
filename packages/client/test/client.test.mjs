import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  createClient,
  LedgerError,
  paginate,
  verifyWebhook,
  WebhookRefused,
} from '../dist/index.js';
import { Webhook } from 'standardwebhooks';

const json = (status, body, headers = {}) =>
  new Response(JSON.stringify(body), {
    status,
    headers: { 'content-type': 'application/json', ...headers },
  });

/** A client whose requests get these answers in turn; an error is a lost connection. */
function answered(...answers) {
  const requests = [];
  const client = createClient({
    baseUrl: 'http://ledger.example/',
    tenant: 'acme',
    apiKey: 'key',
    fetch: async (request) => {
      requests.push(request);
      const answer = answers.shift();
      if (answer instanceof Error) throw answer;
      return answer;
    },
  });
  return { client, requests };
}

test('an operation sends its tenant, credentials, query and body', async () => {
  const { client, requests } = answered(json(200, { id: 'a/b' }), json(200, []));
  await client.syncAccount({ body: { id: 'a/b' }, idempotencyKey: 'order 1' });
  await client.getRewardBalance({ query: { accountId: 'a b', userId: 'ä' } });
  const [write, read] = requests;
  assert.equal(
    `${write.method} ${write.url}`,
    'POST http://ledger.example/api/v1/acme/accountsync',
  );
  assert.equal(write.headers.get('authorization'), `Basic ${btoa(':key')}`);
  assert.equal(write.headers.get('idempotency-key'), 'order 1');
  assert.deepEqual(await write.json(), { id: 'a/b' });
  assert.equal(
    read.url,
    'http://ledger.example/api/v1/acme/reward/balance?accountId=a%20b&userId=%C3%A4',
  );
  assert.equal(read.headers.get('idempotency-key'), null);
});

test('a path is encoded, and an answer without a body is undefined', async () => {
  const { client, requests } = answered(new Response(null, { status: 204 }));
  const answer = await client.deleteUser({ path: { accountId: 'a/b', userId: 'ü?' } });
  assert.equal(answer, undefined);
  assert.equal(
    requests[0].url,
    'http://ledger.example/api/v1/acme/open/account/a%2Fb/user/%C3%BC%3F',
  );
});

test('the file of an import is sent as it is, with its type', async () => {
  const { client, requests } = answered(json(202, {}), json(202, {}), json(202, {}));
  const path = { import: 'users' };
  await client.importFile({ path, body: 'id,accountId\na,b\n' });
  await client.importFile({ path, body: '{"id":"a","accountId":"b"}\n' });
  await client.importFile({ path, body: new Blob(['id;accountId\n'], { type: 'text/csv' }) });
  assert.deepEqual(
    requests.map(({ headers }) => headers.get('content-type')),
    ['text/csv', 'application/x-ndjson', 'text/csv'],
  );
  assert.equal(await requests[0].text(), 'id,accountId\na,b\n');
});

test('a write is repeated with the same key after 503, 429, a request in progress and a lost connection', async () => {
  const { client, requests } = answered(
    json(503, {}, { 'retry-after': '0' }),
    json(409, { apiErrorCode: 'REQUEST_IN_PROGRESS' }, { 'retry-after': '0' }),
    new TypeError('fetch failed'),
    json(200, { id: 'a' }),
  );
  assert.deepEqual(await client.syncAccount({ body: { id: 'a' } }), { id: 'a' });
  const keys = new Set(requests.map(({ headers }) => headers.get('idempotency-key')));
  assert.equal(requests.length, 4);
  assert.equal(keys.size, 1);
  assert.match([...keys][0], /^[0-9a-f-]{36}$/);
});

test('a refusal is a LedgerError and is not repeated', async () => {
  const body = {
    message: 'The request is malformed',
    apiErrorCode: 'BAD_REQUEST',
    rsCode: 'RS022',
    validationErrors: ['id is required'],
  };
  const { client, requests } = answered(json(400, body, { 'request-id': 'r-1' }));
  await assert.rejects(client.syncAccount({ body: {} }), (error) => {
    assert.ok(error instanceof LedgerError);
    const { status, apiErrorCode, rsCode, requestId, validationErrors, message } = error;
    assert.deepEqual(
      { status, requestId, apiErrorCode, rsCode, validationErrors, message },
      { status: 400, requestId: 'r-1', ...body },
    );
    return true;
  });
  assert.equal(requests.length, 1);
});

test('a wait of more than a minute is left to the caller', async () => {
  const { client, requests } = answered(json(429, {}, { 'retry-after': '3600' }));
  await assert.rejects(client.listUsers(), { name: 'LedgerError', status: 429 });
  assert.equal(requests.length, 1);
});

test('a list is read page by page to its end', async () => {
  const { client, requests } = answered(
    json(200, { totalCount: 3, users: [{ id: 'a' }, { id: 'b' }] }),
    json(200, { totalCount: 3, users: [{ id: 'c' }] }),
  );
  const ids = [];
  for await (const { id } of paginate(client.listUsers, { query: { limit: 2, query: 'x' } }))
    ids.push(id);
  assert.deepEqual(ids, ['a', 'b', 'c']);
  assert.deepEqual(
    requests.map(({ url }) => new URL(url).search),
    ['?limit=2&query=x&offset=0', '?limit=2&query=x&offset=2'],
  );
});

test('a page of no entries, which has the totals only, ends the list', async () => {
  const { client, requests } = answered(json(200, { totalCount: 3, users: [] }));
  for await (const user of paginate(client.listUsers, { query: { limit: 0 } }))
    assert.fail(`an entry: ${user.id}`);
  assert.equal(requests.length, 1);
});

test('a client takes an API key or a token, one of them', () => {
  const options = { baseUrl: 'http://ledger.example', tenant: 'acme' };
  assert.throws(() => createClient(options), TypeError);
  assert.throws(() => createClient({ ...options, apiKey: 'a', userToken: 'b' }), TypeError);
});

test('a webhook is verified by its raw body, secret and age, with the headers of Node and of a Request', () => {
  const secret = `whsec_${Buffer.from('a secret of the endpoint').toString('base64')}`;
  const body = '{"type":"user.created","data":{"name":"Zoë"}}';
  const signed = (at) => ({
    'webhook-id': 'e1',
    'webhook-timestamp': String(Math.floor(at / 1000)),
    'webhook-signature': new Webhook(secret).sign('e1', new Date(at), body),
  });
  const headers = signed(Date.now());
  assert.equal(verifyWebhook(headers, body, { secret }).type, 'user.created');
  assert.equal(verifyWebhook(new Headers(headers), Buffer.from(body), { secret }).data.name, 'Zoë');
  for (const [bad, raw] of [
    [headers, `${body} `],
    [signed(Date.now() - 600_000), body],
    [{}, body],
  ])
    assert.throws(() => verifyWebhook(bad, raw, { secret }), WebhookRefused);
});
