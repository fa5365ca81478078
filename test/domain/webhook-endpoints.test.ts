import {
  decideOnEndpoint,
  ENDPOINTS_MAX,
  SECRETS_MAX,
  evolveEndpoints,
  type WebhookCommand,
  type WebhookEndpoint,
  type WebhookEvent,
} from '../../src/domain/tenant/webhook-endpoints.js';

const of = { mode: 'live', endpointId: 'hook' } as const;
const subscribed: WebhookEvent = {
  type: 'WebhookSubscribed',
  at: 1,
  ...of,
  sealed: 'url and name',
  digest: 'digest',
};
const issued: WebhookEvent = {
  type: 'WebhookSecretIssued',
  at: 1,
  ...of,
  secretId: 's1',
  sealed: 'secret',
};
const subscribe = {
  type: 'SubscribeWebhook',
  ...of,
  sealed: 'sealed again',
  digest: 'digest',
  secret: { secretId: 's2', sealed: 'another' },
  now: 10,
} as const;

const given = (...events: WebhookEvent[]): readonly WebhookEndpoint[] =>
  events.reduce<readonly WebhookEndpoint[]>(evolveEndpoints, []);
const when = (events: WebhookEvent[], command: WebhookCommand) =>
  decideOnEndpoint(given(...events), command);

it('a new endpoint is subscribed with a secret', () => {
  expect(when([], subscribe)).toEqual({
    events: [
      { ...subscribed, at: 10, sealed: 'sealed again' },
      { ...issued, at: 10, secretId: 's2', sealed: 'another' },
    ],
  });
});

it('the same URL and name again records nothing and keeps the secret; another name is recorded', () => {
  expect(when([subscribed, issued], subscribe)).toEqual({ events: [] });
  const renamed = { ...subscribe, digest: 'of another name' };
  expect(when([subscribed, issued], renamed)).toEqual({
    events: [{ ...subscribed, at: 10, sealed: 'sealed again', digest: 'of another name' }],
  });
  expect(given(subscribed, issued, { ...subscribed, sealed: 'renamed' })).toMatchObject([
    { sealed: 'renamed', secrets: [{ secretId: 's1' }] },
  ]);
});

it('a disabled endpoint is enabled by a subscription or a command, and disabled once', () => {
  const disabled: WebhookEvent = { type: 'WebhookDisabled', at: 5, ...of, because: 'GONE' };
  const past = [subscribed, issued, disabled];
  expect(given(...past)).toMatchObject([{ disabled: { at: 5, because: 'GONE' } }]);
  expect(when(past, subscribe)).toMatchObject({ events: [{ type: 'WebhookSubscribed' }] });
  expect(when(past, { type: 'EnableWebhook', ...of, now: 6 })).toEqual({
    events: [{ type: 'WebhookEnabled', at: 6, ...of }],
  });
  expect(
    when(past, { type: 'DisableWebhook', ...of, activeSince: 1, because: 'GONE', now: 6 }),
  ).toEqual({
    events: [],
  });
  expect(given(...past, { type: 'WebhookEnabled', at: 6, ...of })).toMatchObject([
    { disabled: null },
  ]);
  expect(given(...past, { ...subscribed, at: 6 })).toMatchObject([{ disabled: null }]);
});

it('a rotated secret signs until the end of its grace period, and is removed after it', () => {
  const rotated = when([subscribed, issued], {
    type: 'RotateWebhookSecret',
    ...of,
    secret: { secretId: 's2', sealed: 'new' },
    graceMs: 100,
    now: 10,
  });
  expect(rotated).toEqual({
    events: [
      { type: 'WebhookSecretIssued', at: 10, ...of, secretId: 's2', sealed: 'new' },
      { type: 'WebhookSecretRetired', at: 10, ...of, secretId: 's1', validUntil: 110 },
    ],
  });
  const after = given(subscribed, issued, ...('events' in rotated ? rotated.events : []));
  expect(after[0]?.secrets).toEqual([
    { secretId: 's1', sealed: 'secret', validUntil: 110 },
    { secretId: 's2', sealed: 'new', validUntil: null },
  ]);
  const later = evolveEndpoints(after, { ...issued, at: 200, secretId: 's3' });
  expect(later[0]?.secrets.map(({ secretId }) => secretId)).toEqual(['s2', 's3']);
});

it('a secret is not rotated when another one is the newest than was seen', () => {
  const rotation = {
    type: 'RotateWebhookSecret',
    ...of,
    secret: { secretId: 's2', sealed: 'new' },
    graceMs: 100,
    now: 10,
  } as const;
  expect(when([subscribed, issued], { ...rotation, seen: 's1' })).toHaveProperty('events');
  expect(when([subscribed, issued], { ...rotation, seen: 's0' })).toMatchObject({
    refused: 'CHANGED_MEANWHILE',
  });
});

const rotate = (past: readonly WebhookEvent[], n: number, graceMs: number): WebhookEvent[] => {
  const rotated = when([...past], {
    type: 'RotateWebhookSecret',
    ...of,
    secret: { secretId: `r${n}`, sealed: `new ${n}` },
    graceMs,
    now: 10 + n,
  });
  return [...past, ...('events' in rotated ? rotated.events : [])];
};
const signingAt = (events: readonly WebhookEvent[], at: number) =>
  given(...events).flatMap(({ secrets }) =>
    secrets
      .filter(({ validUntil }) => validUntil === null || validUntil > at)
      .map(({ secretId }) => secretId),
  );

it(`however often a secret is rotated within a grace, the newest ${SECRETS_MAX} sign`, () => {
  let past: readonly WebhookEvent[] = [subscribed, issued];
  for (let n = 1; n <= 30; n++) {
    past = rotate(past, n, 1_000);
    const all = ['s1', ...Array.from({ length: n }, (_, index) => `r${index + 1}`)];
    expect(signingAt(past, 10 + n)).toEqual(all.slice(-SECRETS_MAX));
  }
  expect(signingAt(past, 1_039)).toEqual(['r29', 'r30']);
  expect(signingAt(past, 1_040)).toEqual(['r30']);
});

it('an endpoint that is not subscribed is refused, and modes are apart', () => {
  for (const type of ['EnableWebhook', 'UnsubscribeWebhook'] as const)
    expect(when([subscribed, issued], { type, ...of, mode: 'test', now: 2 })).toEqual({
      refused: 'SUBSCRIPTION_NOT_FOUND',
    });
  const left = when([subscribed, issued], { type: 'UnsubscribeWebhook', ...of, now: 2 });
  expect(left).toEqual({ events: [{ type: 'WebhookUnsubscribed', at: 2, ...of }] });
  expect(given(subscribed, issued, { type: 'WebhookUnsubscribed', at: 2, ...of })).toEqual([]);
});

it(`a mode has ${ENDPOINTS_MAX} endpoints at most, and an existing one is still changed`, () => {
  const full = Array.from({ length: ENDPOINTS_MAX }, (_, n): WebhookEvent => ({
    ...subscribed,
    endpointId: n === 0 ? 'hook' : `hook${n}`,
  }));
  expect(when(full, { ...subscribe, endpointId: 'one more' })).toMatchObject({
    refused: 'TOO_MANY_ENDPOINTS',
  });
  expect(when(full, { ...subscribe, endpointId: 'one more', mode: 'test' })).toMatchObject({
    events: [{ type: 'WebhookSubscribed' }, { type: 'WebhookSecretIssued' }],
  });
  expect(when(full, { ...subscribe, digest: 'renamed' })).toMatchObject({
    events: [{ type: 'WebhookSubscribed' }],
  });
});
