import {
  decide,
  evolve,
  initialState,
  type ApiKey,
  type ProgramDocument,
  type TenantCommand,
  type TenantEvent,
} from '../../src/domain/tenant/tenant.decider.js';
import { personal } from '../../src/domain/personal.js';
import { DEFAULT_OPEN_RULES, type OpenRules } from '../../src/domain/tenant/open-rules.js';
import { NOW } from './support/account-scenario.js';
import { scenarioOf } from './support/scenario.js';

const key = (keyId: string, mode: 'live' | 'test' = 'live'): ApiKey => ({
  keyId,
  mode,
  hash: `hash of ${keyId}`,
  sealed: `sealed ${keyId}`,
});
const secret = { mode: 'live', sealed: 'sealed secret' } as const;
const STAFF = personal('staff', 'Staff Operator');
const REASON = personal('staff', 'a leaked key');
const program: ProgramDocument = { id: 'default', referrerReward: null };

const created: readonly TenantEvent[] = [
  { type: 'TenantCreated', at: 1, alias: 'acme', programType: 'API_ONLY', openEndpoints: false },
  { type: 'ApiKeyIssued', at: 1, ...key('live-1') },
  { type: 'ApiKeyIssued', at: 1, ...key('test-1', 'test') },
  { type: 'SigningSecretIssued', at: 1, ...secret },
  { type: 'ProgramApplied', at: 1, version: 1, isDefault: true, document: program, eventRules: [] },
];

const given = scenarioOf({ decide, evolve, initialState });

const create: TenantCommand = {
  type: 'CreateTenant',
  alias: 'acme',
  programType: 'API_ONLY',
  openEndpoints: false,
  now: 1,
  keys: [key('live-1'), key('test-1', 'test')],
  signingSecrets: [secret],
  program,
};

it('a tenant is created once, with keys, secrets and a program', () => {
  given()
    .when(create)
    .then(...created);
  given(created).when(create).refused('TENANT_EXISTS');
});

it.each<TenantCommand>([
  { type: 'SwitchOpenEndpoints', openEndpoints: true, now: NOW },
  { type: 'ChangeProgramType', programType: 'PAYMENT_PROVIDER', now: NOW },
  { type: 'RotateKeys', keys: [key('live-2')], graceMs: 0, now: NOW },
  { type: 'RotateSigningSecrets', secrets: [secret], graceMs: 0, now: NOW },
  { type: 'SuspendTenant', reason: REASON, by: STAFF, now: NOW },
  { type: 'ResumeTenant', now: NOW },
  { type: 'ChangeTokensNotBefore', tokensNotBefore: 1, now: NOW },
  { type: 'ApplyProgram', program, now: NOW },
])('a tenant must exist for $type', (command) => {
  given().when(command).refused('TENANT_NOT_FOUND');
});

it('a tenant switches open endpoints, recording only changes', () => {
  given(created)
    .when({ type: 'SwitchOpenEndpoints', openEndpoints: true, now: NOW })
    .then({ type: 'OpenEndpointsSwitched', at: NOW, openEndpoints: true });
  given(created).when({ type: 'SwitchOpenEndpoints', openEndpoints: false, now: NOW }).then();
});

it('a test clock moves to a later time before the year 9000, by a duration or to a time', () => {
  const DAY = 86_400_000;
  const AT = `the test clock is at ${new Date(NOW + DAY).toISOString()} and moves to a later time before the year 9000`;
  const move = (to: { byMs: number } | { time: number }): TenantCommand => ({
    type: 'MoveTestClock',
    to,
    now: NOW,
  });
  const moved = (offsetMs: number): TenantEvent => ({ type: 'TestClockMoved', at: NOW, offsetMs });
  given(created)
    .when(move({ byMs: DAY }))
    .then(moved(DAY));
  given(created, moved(DAY))
    .when(move({ byMs: DAY }))
    .then(moved(2 * DAY));
  given(created, moved(DAY))
    .when(move({ time: NOW + DAY + 1 }))
    .then(moved(DAY + 1));
  for (const to of [{ byMs: 0 }, { time: NOW + DAY }, { time: Date.UTC(9000, 0, 1) }])
    given(created, moved(DAY)).when(move(to)).refused('TEST_CLOCK_NOT_FORWARD', AT);
});

it('a tenant changes its kind of program, recording only changes', () => {
  given(created)
    .when({ type: 'ChangeProgramType', programType: 'PAYMENT_PROVIDER', now: NOW })
    .then({ type: 'ProgramTypeChanged', at: NOW, programType: 'PAYMENT_PROVIDER' });
  given(created).when({ type: 'ChangeProgramType', programType: 'API_ONLY', now: NOW }).then();
});

const change = (changes: Partial<OpenRules>): TenantCommand => ({
  type: 'ChangeOpenRules',
  changes,
  now: NOW,
});
const changed = (rules: OpenRules): TenantEvent => ({ type: 'OpenRulesChanged', at: NOW, rules });

it('rules of open endpoints change member by member, limits are merged', () => {
  const first = changed({
    ...DEFAULT_OPEN_RULES,
    tokensMustExpire: true,
    rateLimits: { code: 5 },
  });
  given(created)
    .when(change({ tokensMustExpire: true, rateLimits: { code: 5 } }))
    .then(first);
  given(created, first)
    .when(change({ allowedOrigins: ['https://a.example'], rateLimits: { 'apply-code': 7 } }))
    .then(
      changed({
        tokensMustExpire: true,
        allowedOrigins: ['https://a.example'],
        rateLimits: { code: 5, 'apply-code': 7 },
      }),
    );
});

it('rules of open endpoints record only changes: full public users are the default', () => {
  for (const changes of [{}, { tokensMustExpire: false }, { publicUser: 'full' as const }])
    given(created).when(change(changes)).then();
  const minimal = changed({ ...DEFAULT_OPEN_RULES, publicUser: 'minimal' });
  given(created)
    .when(change({ publicUser: 'minimal' }))
    .then(minimal);
  given(created, minimal)
    .when(change({ tokensMustExpire: false }))
    .then();
  given(created, minimal)
    .when(change({ publicUser: 'full' }))
    .then(changed({ tokensMustExpire: false, allowedOrigins: [], rateLimits: {} }));
});

it('a tenant’s settings of mails, endpoints and provider are those of its events', () => {
  const events: readonly TenantEvent[] = [
    ...created,
    { type: 'OpenEndpointsSwitched', at: 2, openEndpoints: true },
    { type: 'ProgramTypeChanged', at: 2, programType: 'PAYMENT_PROVIDER' },
    { type: 'MailSettingsChanged', at: 3, types: ['WELCOME'], testTo: null },
    { type: 'MailSettingsChanged', at: 4, types: ['REWARD_EARNED', 'WELCOME'], testTo: null },
  ];
  expect(given(events).state).toMatchObject({
    openEndpoints: true,
    programType: 'PAYMENT_PROVIDER',
    mails: { types: { WELCOME: 3, REWARD_EARNED: 4 }, testTo: null },
  });
  const settings = { type: 'ChangeMailSettings', now: NOW } as const;
  given(events)
    .when({ ...settings, types: ['WELCOME', 'REWARD_EARNED', 'WELCOME'] })
    .then();
  given(events).when(settings).then();
  given(events)
    .when({ ...settings, types: [] })
    .then({ type: 'MailSettingsChanged', at: NOW, types: [], testTo: null });
  const testTo = { sealed: 'sealed', digest: 'digest' };
  given(events)
    .when({ ...settings, testTo })
    .then({ type: 'MailSettingsChanged', at: NOW, types: ['REWARD_EARNED', 'WELCOME'], testTo });
  const units = { type: 'ChangeUnitSettings', now: NOW } as const;
  const formats = [{ unit: 'CENTS', currency: 'USD', digits: 2 }];
  const grantLimits = [{ unit: 'CENTS', amount: 500 }];
  const settled = { type: 'UnitSettingsChanged', at: NOW, formats, grantLimits } as const;
  const changes = { ...units, grantLimits };
  given(events, { ...settled, grantLimits: [] })
    .when(changes)
    .then(settled);
  given(events, settled).when(changes).then();
  expect(given(events, settled).state).toMatchObject({ units: { formats, grantLimits } });
});

it('a tenant decides, and folds, on its endpoints', () => {
  const of = { mode: 'live', endpointId: 'hook', now: NOW } as const;
  const secret2 = { secretId: 's2', sealed: 'another' };
  const end = { type: 'UnsubscribeWebhook', ...of } as const;
  given(created).when(end).refused('SUBSCRIPTION_NOT_FOUND');
  const subscribed = given(created)
    .when({ type: 'SubscribeWebhook', ...of, sealed: 'url', digest: 'digest', secret: secret2 })
    .events();
  const here = given(created, subscribed);
  expect(here.state).toMatchObject({ webhooks: [{ secrets: [secret2] }] });
  expect(here.when(end).types()).toEqual(['WebhookUnsubscribed']);
});

it('a tenant decides, and folds, on its connection to a payment provider', () => {
  const connect = {
    type: 'ConnectPaymentProvider',
    mode: 'live',
    provider: 'stripe',
    secrets: personal('connection', 'secrets'),
    keyRef: 'key',
    graceMs: 0,
    now: NOW,
  } as const;
  const disconnect = { type: 'DisconnectPaymentProvider', mode: 'live', now: NOW } as const;
  const connected = given(created).when(connect).events();
  expect(connected).toMatchObject([{ type: 'PaymentProviderConnected' }]);
  const gone = given(created, connected).when(disconnect).events();
  expect(gone).toMatchObject([{ type: 'PaymentProviderDisconnected' }]);
  given(created).when(disconnect).then();
  given(created, connected, gone).when(disconnect).then();
});

const rotate = (keys: readonly ApiKey[], graceMs: number, now = NOW): TenantCommand => ({
  type: 'RotateKeys',
  keys,
  graceMs,
  now,
});

it('rotating keys issues new ones and retires those of the same mode after the grace', () => {
  given(created)
    .when(rotate([key('live-2')], 1_000))
    .then(
      { type: 'ApiKeyIssued', at: NOW, ...key('live-2') },
      { type: 'ApiKeyRetired', at: NOW, keyId: 'live-1', validUntil: NOW + 1_000 },
    );
});

it('rotating keys never gives a retiring key more time, but may take some', () => {
  const once = given(
    created,
    { type: 'ApiKeyIssued', at: NOW, ...key('live-2') },
    { type: 'ApiKeyRetired', at: NOW, keyId: 'live-1', validUntil: NOW + 1_000 },
  );
  once
    .when(rotate([key('live-3')], 5_000, NOW + 10))
    .then(
      { type: 'ApiKeyIssued', at: NOW + 10, ...key('live-3') },
      { type: 'ApiKeyRetired', at: NOW + 10, keyId: 'live-2', validUntil: NOW + 5_010 },
    );
  expect(once.when(rotate([key('live-3')], 0, NOW + 10)).decision).toMatchObject({
    events: [
      { keyId: 'live-3' },
      { keyId: 'live-1', validUntil: NOW + 10 },
      { keyId: 'live-2', validUntil: NOW + 10 },
    ],
  });
});

it('rotating a signing secret retires those of its mode, the first one too, and never gives one more time', () => {
  const second = { secretId: 'signing-live-2', mode: 'live', sealed: 'second' } as const;
  const rotate = (graceMs: number, now: number): TenantCommand => ({
    type: 'RotateSigningSecrets',
    secrets: [second],
    graceMs,
    now,
  });
  const issued: TenantEvent = { type: 'SigningSecretIssued', at: NOW, ...second };
  const retired = (secretId: string, at: number, validUntil: number): TenantEvent => ({
    type: 'SigningSecretRetired',
    at,
    secretId,
    validUntil,
  });
  const first = retired('signing-live', NOW, NOW + 1_000);
  given(created, { type: 'SigningSecretIssued', at: 1, mode: 'test', sealed: 'of test' })
    .when(rotate(1_000, NOW))
    .then(issued, first);
  const once = given(created, issued, first);
  expect(once.state).toMatchObject({
    signingSecrets: [
      { secretId: 'signing-live', sealed: 'sealed secret', validUntil: NOW + 1_000 },
      { secretId: 'signing-live-2', sealed: 'second', validUntil: null },
    ],
  });
  expect(once.when(rotate(5_000, NOW)).decision).toMatchObject({
    events: [{}, { secretId: 'signing-live-2', validUntil: NOW + 5_000 }],
  });
  expect(once.when(rotate(0, NOW)).decision).toMatchObject({
    events: [{}, { secretId: 'signing-live', validUntil: NOW }, { validUntil: NOW }],
  });
});

it('a tenant is suspended and resumed, recording only changes', () => {
  const suspend = (reason = REASON): TenantCommand => ({
    type: 'SuspendTenant',
    reason,
    by: STAFF,
    now: NOW,
  });
  const resume: TenantCommand = { type: 'ResumeTenant', now: NOW };
  const suspended: TenantEvent = { type: 'TenantSuspended', at: NOW, reason: REASON, by: STAFF };
  const resumed: TenantEvent = { type: 'TenantResumed', at: NOW };
  given(created).when(suspend()).then(suspended);
  given(created).when(resume).then();
  const closed = given(created, suspended);
  expect(closed.state).toMatchObject({ suspended: { since: NOW, reason: 'a leaked key' } });
  closed.when(suspend()).then();
  const fraud = personal('staff', 'a fraud');
  closed.when(suspend(fraud)).then({ ...suspended, reason: fraud });
  closed.when(resume).then(resumed);
  expect(given(created, suspended, resumed).state).toMatchObject({ suspended: null });
});

it('a tenant names the moment before which no token may be issued, recording only changes', () => {
  const change = (tokensNotBefore: number | null): TenantCommand => ({
    type: 'ChangeTokensNotBefore',
    tokensNotBefore,
    now: NOW,
  });
  const changed: TenantEvent = { type: 'TokensNotBeforeChanged', at: NOW, tokensNotBefore: 5 };
  given(created).when(change(null)).then();
  given(created).when(change(5)).then(changed);
  const set = given(created, changed);
  expect(set.state).toMatchObject({ tokensNotBefore: 5 });
  set.when(change(5)).then();
  set.when(change(null)).then({ ...changed, tokensNotBefore: null });
});

const apply = (document: ProgramDocument): TenantCommand => ({
  type: 'ApplyProgram',
  program: document,
  now: NOW,
});
const applied = (document: ProgramDocument, version: number, isDefault: boolean): TenantEvent => ({
  type: 'ProgramApplied',
  at: NOW,
  version,
  isDefault,
  document,
  eventRules: [],
});
const renamed: ProgramDocument = { id: 'default', referrerReward: null, name: 'Changed' };
const partners: ProgramDocument = { id: 'partners' };

it('applying a program gives changed terms a new version; the same document changes nothing', () => {
  given(created)
    .when(apply(renamed))
    .then(applied(renamed, 2, true));
  given(created, applied(renamed, 2, true))
    .when(apply(program))
    .then(applied(program, 3, true));
  given(created)
    .when(apply({ ...program }))
    .then();
});

it('applying a program adds a program next to the default one', () => {
  given(created)
    .when(apply(partners))
    .then(applied(partners, 1, false));
  expect(given(created, applied(partners, 1, false)).state).toMatchObject({
    defaultProgramId: 'default',
  });
});

it('applying a program makes the program the default if the document requires it', () => {
  const takesOver = { ...partners, default: true };
  given(created)
    .when(apply(takesOver))
    .then(applied(takesOver, 1, true));
  const { state } = given(created, applied(takesOver, 1, true));
  expect(state).toMatchObject({
    defaultProgramId: 'partners',
    programs: { default: { version: 1 }, partners: { version: 1 } },
  });
});

it('applying a program makes it the default again under the same version, when another one took over since', () => {
  const first = { ...program, default: true };
  const second = { ...partners, default: true };
  given(created, applied(first, 2, true), applied(second, 1, true))
    .when(apply(first))
    .then(applied(first, 2, true));
  given(created, applied(first, 2, true), applied(second, 1, true))
    .when(apply(second))
    .then();
});
