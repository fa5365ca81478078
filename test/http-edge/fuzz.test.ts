import { LedgerValues, type Ledger } from '../../bench/fuzz/ledger-values.js';
import { OpenApiValidator } from '../harness/openapi-validator.js';
import { Oracle } from '../../bench/fuzz/oracle.js';
import { tenantRequest } from '../../bench/fuzz/requests.js';
import { describeInterface } from '../../src/http/shapes/openapi.js';
import { startSampleApp, type SampleApp } from './sample-app.js';

/** What `npm run soak:fuzz` reports; the whole runs in `test/http/bad-input.test.ts`. */

let it_: SampleApp;
let validator: OpenApiValidator;
beforeAll(async () => {
  it_ = await startSampleApp();
  validator = new OpenApiValidator(describeInterface(it_.app, { version: '0.0.0' }));
});
afterAll(() => it_.app.close());

const ledgerOf = (tenant: string, mark: string): Ledger => ({
  tenant,
  mode: 'live',
  apiKey: `LIVE_${tenant}`,
  signingSecret: `secret-${tenant}`,
  mark,
});
const own = ledgerOf('acme', 'qzx0j7');
const other = ledgerOf('other', 'qzx1j7');

describe('the oracle', () => {
  const account = {
    id: 'qzx0j7-a',
    currency: 'USD',
    subscription: { status: 'TRIAL' },
    referral: null,
  };
  const headers = { 'content-type': 'application/json; charset=utf-8' };
  const answerOf = (body: unknown, status = 200) => ({
    status,
    headers,
    text: JSON.stringify(body),
    body,
  });
  const error = (status: number, apiErrorCode: string) =>
    answerOf({ statusCode: status, message: 'x', apiErrorCode, rsCode: null }, status);
  const request = tenantRequest(own, 'GET', '/account/qzx0j7-a');

  function violations(answer: ReturnType<typeof answerOf>, hasFaults = false) {
    const values = [own, other].map((ledger) => new LedgerValues(ledger));
    values[1]!.learn({ id: 'reward-of-the-other', rewardSource: 'MANUAL' });
    return new Oracle(validator, values, hasFaults).violations(request, answer);
  }

  test('passes what is described', () => {
    expect(violations(answerOf(account))).toEqual([]);
    expect(violations(error(404, 'ACCOUNT_NOT_FOUND'))).toEqual([]);
    expect(violations(error(503, 'UNAVAILABLE'), true)).toEqual([]);
  });

  test.each([
    ['a failure', error(500, 'INTERNAL'), 'status 500'],
    ['an outage without a fault', error(503, 'UNAVAILABLE'), 'status 503'],
    ['a status that is not described', answerOf(account, 201), 'the status is not described'],
    ['a missing member', answerOf({ ...account, id: undefined }), "required property 'id'"],
    ['an error without its members', answerOf({ statusCode: 404 }, 404), "property 'rsCode'"],
    ['a code of another operation', error(404, 'REWARD_NOT_FOUND'), 'allowed values'],
    ["another ledger's text", answerOf({ ...account, id: 'QZX1J7-a' }), '"QZX1J7-a"'],
    [
      "another ledger's id",
      answerOf({ ...account, id: 'reward-of-the-other' }),
      '"reward-of-the-other"',
    ],
    ['a key', answerOf({ ...account, id: own.signingSecret }), 'holds a key'],
    ['a page', { ...answerOf(account), headers: { 'content-type': 'text/html' } }, 'text/html'],
  ])('reports %s', (_, answer, what) => {
    expect(violations(answer)).toContainEqual(expect.stringContaining(what));
  });

  test('reports what the description allows and the service refuses, but for decisions on the state', () => {
    const oracle = new Oracle(validator, [], false);
    const allowed = { ...request, faults: [] };
    expect(oracle.violations(allowed, error(404, 'ACCOUNT_NOT_FOUND'))).toEqual([]);
    const refused = oracle.violations(allowed, error(400, 'BAD_REQUEST'));
    expect(refused).toEqual([expect.stringContaining('allowed, but refused')]);
    expect(oracle.violations(request, error(400, 'BAD_REQUEST'))).toEqual([]);
  });

  test('reports what the description forbids and the service accepts', () => {
    const oracle = new Oracle(validator, [], false);
    const forbidden = { ...request, faults: ['body/id must be string'] };
    expect(oracle.violations(forbidden, error(400, 'BAD_REQUEST'))).toEqual([]);
    expect(oracle.violations(forbidden, answerOf(account))).toEqual([
      'forbidden, but accepted: body/id must be string',
    ]);
  });

  test('reports another answer to the same request with the same key', () => {
    const oracle = new Oracle(validator, [], false);
    const keyed = { ...request, headers: { 'idempotency-key': 'k' } };
    const [first, second] = [answerOf(account), answerOf({ ...account, currency: 'EUR' })];
    expect(oracle.differences(keyed, first, first)).toEqual([]);
    expect(oracle.differences(keyed, first, second)).toHaveLength(1);
    expect(oracle.differences(request, first, second)).toEqual([]);
  });
});
