import { DescribedOperations, type Draft } from '../../bench/fuzz/described-operations.js';
import { isStorable } from '../../bench/fuzz/requests.js';
import { RequestPlans } from '../../bench/fuzz/request-plans.js';
import { filled } from '../../bench/fuzz/slots.js';
import { SyncAccountRequest } from '../../src/http/accounts/sync-account.request.js';
import { ApiError } from '../../src/http/edge/api-error.js';
import { parseCreateReward } from '../../src/http/rewards/create-reward.request.js';
import { describeInterface } from '../../src/http/shapes/openapi.js';
import { parseRequest } from '../../src/http/shapes/validation.js';
import { UserRequest } from '../../src/http/users/user.request.js';
import { newSeed } from '../support/new-seed.js';
import { useSampleApp } from './sample-app.js';

const it_ = useSampleApp();
const seed = newSeed('described bodies');
const BODIES = 400;

const PARSERS: readonly (readonly [route: string, parse: (body: unknown) => unknown])[] = [
  ['POST /api/v1/{tenantAlias}/accountsync', (body) => parseRequest(SyncAccountRequest, body)],
  [
    'PUT /api/v1/{tenantAlias}/open/account/{accountId}/user/{userId}',
    (body) => parseRequest(UserRequest, body),
  ],
  ['POST /api/v1/{tenantAlias}/rewards/account/{accountId}/user/{userId}', parseCreateReward],
];

function refusalOf(parse: (body: unknown) => unknown, body: unknown): readonly string[] {
  try {
    parse(body);
    return [];
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    return error.body.validationErrors ?? [error.body.message];
  }
}

test.each(PARSERS)('%s refuses exactly the bodies that the description forbids', (route, parse) => {
  const described = new DescribedOperations(describeInterface(it_.app, { version: '0.0.0' }));
  const operation = described.operations.find(({ key }) => key === route)!;
  const plans = new RequestPlans(described).generate(operation, BODIES, seed);
  const disagreements = plans.flatMap(({ draft }) => {
    const { body } = filled(draft, ({ draw }) => `x${draw % 1_000}`) as Draft;
    if (body === undefined || !isStorable(body)) return [];
    const sent: unknown = JSON.parse(JSON.stringify(body));
    const forbidden = described
      .faults(operation, { ...draft, path: {}, query: {}, headers: {}, body })
      .filter((fault) => fault.startsWith('body'));
    const refused = refusalOf(parse, sent);
    return forbidden.length > 0 === refused.length > 0 ? [] : [{ sent, forbidden, refused }];
  });
  expect([seed, disagreements.slice(0, 3)]).toEqual([seed, []]);
});
