import { type Program } from '../../src/domain/program.js';
import { nameEventRules } from '../../src/domain/tenant/event-rules.js';
import {
  DEFAULT_PROGRAM,
  programOf,
  programsOf,
  toProgram,
} from '../../src/domain/tenant/program-document.js';
import { credit, discount } from '../support/account-events.js';
import { terms } from './support/account-scenario.js';
import { type ProgramDocument } from '../../src/domain/tenant/tenant.decider.js';
import { aTenant } from './support/request-scenario.js';

const parse = (document: ProgramDocument): Program =>
  toProgram({ document, version: 4, eventRules: nameEventRules(document, undefined) }, true);

it('the default program pays ten percent at the start and a thousand cents at conversion, both cancellable', () => {
  expect(parse(DEFAULT_PROGRAM)).toStrictEqual({
    id: 'default',
    version: 4,
    name: 'default',
    isDefault: true,
    landingPage: null,
    referredReward: terms(discount(10)),
    referrerReward: terms(credit(1000), { when: 'CONVERTED' }),
    conversion: { on: 'PAID' },
    eventRewards: [],
    moderation: { referred: 'APPROVED', referrer: 'APPROVED' },
    fraud: { name: 'ignore', email: 'ignore', ip: 'ignore', rate: 'ignore' },
    rateLimit: { referrals: 3, minutes: 30 },
    refundDays: null,
    automaticRedemption: [],
  });
});

it('limits, conditions and values follow the document, with null for missing members', () => {
  const reward = { type: 'CREDIT', unit: 'POINTS', assignedCredit: 5 } as const;
  const { eventRewards, referrerReward } = parse({
    id: 'default',
    referrerReward: { ...reward, limit: { total: 3 } },
    eventRewards: [
      { key: 'buy', to: 'USER', reward: { ...reward, limit: { perDay: 2 } } },
      {
        key: 'visit',
        to: 'REFERRER',
        firstTimeOnly: true,
        minimum: { field: 'pages', value: 4 },
        reward: { type: 'FUELTANK', amount: 7 },
      },
    ],
  });
  expect(referrerReward?.limit).toStrictEqual({ total: 3, perDay: null });
  expect(eventRewards).toMatchObject([
    {
      key: 'buy',
      to: 'USER',
      firstTimeOnly: false,
      minimum: null,
      terms: { value: { unit: 'POINTS' }, limit: { total: null, perDay: 2 } },
    },
    {
      key: 'visit',
      to: 'REFERRER',
      firstTimeOnly: true,
      minimum: { field: 'pages', value: 4 },
      terms: { value: { type: 'FUELTANK', fuelTankType: 'CREDIT', amount: 7, unit: null } },
    },
  ]);
});

it('a reward that the payment provider pays is not redeemed automatically', () => {
  const paid = { type: 'CREDIT', unit: 'CENTS', assignedCredit: 1, currency: 'USD' } as const;
  const program = (payTo: 'ledger' | 'provider') =>
    parse({ id: 'a', automaticRedemption: ['CREDIT'], referrerReward: { ...paid, payTo } });
  const byProvider = program('provider').referrerReward;
  expect(byProvider).toMatchObject({ payTo: 'provider', redeemsAutomatically: false });
  const byLedger = program('ledger').referrerReward;
  expect(byLedger).toMatchObject({ redeemsAutomatically: true });
  expect(byLedger).not.toHaveProperty('payTo');
});

it('every given member has its effect', () => {
  const said = { when: 'CONVERTED', name: 'Welcome', description: 'Nice' } as const;
  const dates = { cancellable: false, validDays: 30, delayDays: 2 };
  const percent = { ...discount(15), monthsDiscountIsValid: 3 } as const;
  const document = { id: 'partners', name: 'Partners', landingPage: 'https://example.com/join' };
  const program = parse({
    ...document,
    referredReward: { ...credit(5, 'POINTS', 'EUR'), ...said, ...dates },
    referrerReward: { ...percent, when: 'STARTED' },
    moderation: { referrer: 'PENDING' },
  });
  expect(program).toMatchObject({
    ...document,
    referredReward: terms(credit(5, 'POINTS', 'EUR'), { ...said, ...dates }),
    referrerReward: terms(percent, { when: 'STARTED' }),
    moderation: { referred: 'APPROVED', referrer: 'PENDING' },
  });
});

it('a side that a file leaves out earns what the default program pays', () => {
  const { referredReward, referrerReward } = parse(DEFAULT_PROGRAM);
  expect(parse({ id: 'plain' })).toMatchObject({ referredReward, referrerReward });
  expect(parse({ id: 'plain', referrerReward: null })).toMatchObject({
    referredReward,
    referrerReward: null,
  });
});

const tenant = { ...aTenant({ id: 'partners' }), defaultProgramId: 'partners' };

it('the programs of a tenant are found by their id only', () => {
  expect(programOf(tenant, 'default')).toMatchObject({ id: 'default', isDefault: false });
  expect(programOf(tenant, 'partners')).toMatchObject({ id: 'partners', isDefault: true });
  expect(programOf(tenant, 'Partners')).toBeNull();
  expect(programOf(tenant, 'constructor')).toBeNull();
});

it('the programs of a tenant have one default', () => {
  expect(programsOf(tenant).map(({ id, isDefault }) => [id, isDefault])).toEqual([
    ['default', false],
    ['partners', true],
  ]);
});
