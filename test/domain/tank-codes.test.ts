import {
  decide,
  evolve,
  initialState,
  type TankCodeCommand,
  type TankCodeEvent,
} from '../../src/domain/fuel-tank/tank-codes.decider.js';
import { NOTHING_PROVIDED, type Provided } from '../../src/domain/need.js';
import { nameEventRules } from '../../src/domain/tenant/event-rules.js';
import { tankCodesOf, currentTankCodes } from '../../src/domain/tenant/program-document.js';
import {
  evolve as evolveTenant,
  type OpenTenant,
  type TenantState,
  type ProgramDocument,
} from '../../src/domain/tenant/tenant.decider.js';
import {
  accountAttributed,
  accountOpened,
  rewardGranted,
  rewardWithheld,
  tankCode,
  userIdentified,
} from '../support/account-events.js';
import {
  ACME,
  ANN,
  announced,
  annStands,
  aProgram,
  BOB,
  given,
  NOW,
  OF_REFERRAL,
  terms,
} from './support/account-scenario.js';
import { upsertUser } from './support/commands.js';
import { aTenant } from './support/request-scenario.js';

const holder = (rewardId: string) => ({ account: 'account', rewardId });
const reserve = (rewardId: string, ...codes: readonly string[]): TankCodeCommand => ({
  type: 'ReserveTankCode',
  codes,
  holder: holder(rewardId),
  claim: 'first',
  now: 7,
});
const event = (
  type: TankCodeEvent['type'],
  code: string,
  rewardId: string,
  claim: string | null = 'first',
): TankCodeEvent =>
  type === 'TankCodeHandedOut'
    ? { type, at: 7, code, holder: holder(rewardId) }
    : { type, at: 7, code, holder: holder(rewardId), claim };
const after = (...events: readonly TankCodeEvent[]) => events.reduce(evolve, initialState);
const tell = (
  type: 'HandOutTankCode' | 'ReleaseTankCode',
  code: string,
  rewardId: string,
  claim: string | null = 'first',
): TankCodeCommand =>
  type === 'HandOutTankCode'
    ? { type, code, holder: holder(rewardId), now: 7 }
    : { type, code, holder: holder(rewardId), claim, now: 7 };

const reserved = event('TankCodeReserved', 'A', 'one');

const handedOut = event('TankCodeHandedOut', 'A', 'one');
const released = event('TankCodeReleased', 'A', 'one');
const decides = (
  state: ReturnType<typeof after>,
  command: TankCodeCommand,
  ...events: readonly TankCodeEvent[]
) => expect(decide(state, command)).toEqual({ events });

it('the codes of a tenant are taken in their order, each by one reward', () => {
  decides(initialState, reserve('one', 'A', 'B'), reserved);
  decides(after(reserved), reserve('two', 'A', 'B'), event('TankCodeReserved', 'B', 'two'));
  decides(after(reserved, handedOut), reserve('two', 'A'));
});

it('the codes of a tenant are the same for each request of the same reward, each with a claim', () => {
  const again = { ...reserve('one', 'B'), claim: 'second' } as const;
  const second = event('TankCodeReserved', 'A', 'one', 'second');
  decides(after(reserved), again, second);
  decides(after(reserved, handedOut), again);
  expect(after(reserved, second).codeOfReward.get('one')).toBe('A');
});

it('the codes of a tenant are free again only when no claim is left', () => {
  const both = after(reserved, event('TankCodeReserved', 'A', 'one', 'second'));
  decides(both, tell('ReleaseTankCode', 'A', 'one'), released);
  const left = evolve(both, released);
  expect(left.taken.has('A')).toBe(true);
  decides(left, tell('ReleaseTankCode', 'A', 'one'));
  expect(evolve(left, event('TankCodeReleased', 'A', 'one', 'second')).taken.has('A')).toBe(false);
  const all = event('TankCodeReleased', 'A', 'one', null);
  decides(both, tell('ReleaseTankCode', 'A', 'one', null), all);
  expect(evolve(both, all)).toEqual(initialState);
});

it('the codes of a tenant with many claims are freed only when they lapse', () => {
  const claims = Array.from({ length: 20 }, (_, number) => `claim ${number}`);
  const state = after(...claims.map((claim) => event('TankCodeReserved', 'A', 'one', claim)));
  const releases = claims.map((claim) => event('TankCodeReleased', 'A', 'one', claim));
  expect(state.reserved.get('A')?.claims).toHaveLength(17);
  expect(releases.reduce(evolve, state).taken.has('A')).toBe(true);
  expect(evolve(state, event('TankCodeReleased', 'A', 'one', null)).taken.has('A')).toBe(false);
});

it('the codes of a tenant are free again when their reward is not granted, and never once handed out', () => {
  decides(after(reserved), tell('ReleaseTankCode', 'A', 'one'), released);
  decides(after(reserved, released), reserve('two', 'A'), event('TankCodeReserved', 'A', 'two'));
  decides(after(reserved, handedOut), tell('ReleaseTankCode', 'A', 'one'));
  decides(after(reserved), tell('ReleaseTankCode', 'A', 'two'));
});

it('the codes of a tenant are handed out once their account has recorded them, also if they were released by mistake', () => {
  const handOut = tell('HandOutTankCode', 'A', 'one');
  decides(after(reserved), handOut, handedOut);
  decides(after(reserved, handedOut), handOut);
  decides(after(reserved, released), handOut, handedOut);
  decides(after(reserved, released, event('TankCodeReserved', 'A', 'two')), handOut);
});

const pool = (fuelTankCodes: readonly string[], amount = 5): ProgramDocument => ({
  id: 'p',
  referredReward: { type: 'FUELTANK', fuelTankCodes, fuelTankType: 'CREDIT', amount },
  referrerReward: null,
  eventRewards: [
    {
      key: 'visit',
      to: 'USER',
      reward: { type: 'FUELTANK', fuelTankCodes: ['V'], fuelTankType: 'CREDIT', amount: 1 },
    },
  ],
});
const applied = (...documents: readonly ProgramDocument[]) =>
  documents.reduce<TenantState>(
    (state, document, index) =>
      evolveTenant(state, {
        type: 'ProgramApplied',
        at: 1,
        version: index + 1,
        isDefault: true,
        document,
        eventRules: nameEventRules(document, undefined),
      }),
    aTenant(),
  ) as OpenTenant;
const value = (amount: number) =>
  ({ type: 'FUELTANK', fuelTankType: 'CREDIT', amount, unit: null }) as const;
const of = (rule: string, amount = 5) => ({
  programId: 'p',
  programVersion: 1,
  rule,
  value: value(amount),
});

it('a pool has the codes of its rule', () => {
  const tenant = applied(pool(['A', 'B']));
  expect(currentTankCodes(tenant, of('referredReward'))).toEqual(['A', 'B']);
  expect(currentTankCodes(tenant, of('eventRewards/USER/visit', 1))).toEqual(['V']);
  expect(currentTankCodes(tenant, of('eventRewards/USER/visit/2', 1))).toBeUndefined();
  expect(currentTankCodes(tenant, { ...of('referredReward'), programId: 'q' })).toBeUndefined();
  const version = { document: pool(['A', 'B']), eventRules: ['a'] };
  expect([
    tankCodesOf(version, 'referredReward'),
    tankCodesOf(version, 'a'),
    tankCodesOf(version, 'b'),
  ]).toEqual([['A', 'B'], ['V'], []]);
});

it('a pool is filled up by a newer version, unless its codes now belong to another rule', () => {
  expect(currentTankCodes(applied(pool(['A']), pool(['B'])), of('referredReward'))).toEqual(['B']);
  expect(
    currentTankCodes(applied(pool(['A']), pool(['B'], 9)), of('referredReward')),
  ).toBeUndefined();
  expect(
    currentTankCodes(applied(pool(['A']), { id: 'p', referredReward: null }), of('referredReward')),
  ).toBeUndefined();
});

const { fuelTankCode: _, ...tank } = {
  type: 'FUELTANK',
  fuelTankCode: 'A',
  fuelTankType: 'CREDIT',
  amount: 5,
  unit: null,
} as const;
const program = aProgram({ referredReward: terms(tank), referrerReward: null });
const here = [accountOpened(ACME), userIdentified(ACME, 'bob'), accountAttributed('ANNLEE', ANN)];
const start = (tankCodes: Provided['tankCodes']) =>
  given(here).when(
    upsertUser('bob', {
      context: annStands({
        program,
        provided: { ...NOTHING_PROVIDED, ...announced(), tankCodes },
      }),
    }),
  );

it('a reward of a tank code needs a code of the pool first', () => {
  const asked = {
    kind: 'tank-code',
    rewardId: 'reward-of-start',
    programId: 'default',
    programVersion: 1,
    rule: 'referredReward',
    value: tank,
    lapses: 0,
  } as const;
  start({}).needs(asked);
  start({ another: { code: 'B', lapses: 0 } }).needs(asked);
});

it('a reward of a tank code has the reserved code', () => {
  const { decision } = start({ 'reward-of-start': { code: 'A', lapses: 0 } });
  const granted = rewardGranted('reward-of-start', BOB, tankCode('A'), {
    at: NOW,
    ...OF_REFERRAL,
  });
  expect('events' in decision && decision.events.slice(1)).toEqual([granted]);
});

it('a reward of a tank code is not granted from an empty pool, and the log has the reason', () => {
  const { decision } = start({ 'reward-of-start': { code: null, lapses: 0 } });
  const withheld = rewardWithheld({
    at: NOW,
    rewardId: 'reward-of-start',
    person: BOB.person,
    reason: 'POOL_EMPTY',
  });
  expect('events' in decision && decision.events.slice(1)).toEqual([withheld]);
});
