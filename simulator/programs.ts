import type { ProgramDocument } from '../src/domain/tenant/tenant.decider.js';
import { DEFAULT_PROGRAM } from '../src/domain/tenant/program-document.js';

const credit = (assignedCredit: number, terms: object = {}): object => ({
  type: 'CREDIT',
  unit: 'CENTS',
  assignedCredit,
  ...terms,
});

/** Fewer codes than a round wants. */
const tank = (prefix: string): object => ({
  type: 'FUELTANK',
  fuelTankType: 'CREDIT',
  amount: 5,
  fuelTankCodes: Array.from({ length: 4 }, (_, index) => `${prefix}-${index}`),
});

/** The events that clients post. */
export const PURCHASE = 'purchase';
export const RETURN = 'return';

const refund = { key: RETURN, field: 'order' };

const paid = { currency: 'USD', payTo: 'provider' };

/** The programs of the simulated tenants, one a round. */
export const PROGRAMS = {
  default: DEFAULT_PROGRAM,
  'credit for both': {
    id: 'default',
    referredReward: credit(300),
    referrerReward: credit(200, { when: 'STARTED' }),
  },
  'all is moderated': {
    id: 'default',
    referredReward: credit(300),
    referrerReward: credit(200),
    moderation: { referred: 'PENDING', referrer: 'PENDING' },
    fraud: { name: 'deny', rate: 'pending' },
  },
  'late, short and few': {
    id: 'default',
    referredReward: credit(300, { delayDays: 1, validDays: 2 }),
    referrerReward: credit(200, { when: 'STARTED', limit: { total: 2 } }),
  },
  'few a day': {
    id: 'default',
    referredReward: credit(300),
    referrerReward: credit(200, { limit: { total: 3, perDay: 1 } }),
  },
  'redeemed automatically': {
    id: 'default',
    referredReward: credit(300, { delayDays: 1 }),
    referrerReward: credit(200),
    automaticRedemption: ['CREDIT'],
  },
  'codes of a tank': { id: 'default', referredReward: tank('ED'), referrerReward: tank('ER') },
  'by events': {
    id: 'default',
    referredReward: credit(300),
    referrerReward: credit(200),
    conversion: { on: 'EVENT', key: PURCHASE, firstTimeOnly: true, refund },
    eventRewards: [
      { key: PURCHASE, to: 'USER', refund, reward: credit(50, { limit: { perDay: 5 } }) },
      {
        key: PURCHASE,
        to: 'REFERRER',
        minimum: { field: 'total', value: 50 },
        refund,
        reward: credit(20, { limit: { total: 5 } }),
      },
    ],
  },
  'billed: credit for both': {
    id: 'default',
    refundDays: 1,
    referredReward: credit(300, paid),
    referrerReward: credit(200, { ...paid, when: 'STARTED' }),
  },
  'billed: a discount': {
    id: 'default',
    refundDays: 1,
    referredReward: {
      type: 'PCT_DISCOUNT',
      discountPercent: 10,
      monthsDiscountIsValid: 3,
      payTo: 'provider',
    },
    referrerReward: credit(200, paid),
  },
  'billed: late and moderated': {
    id: 'default',
    refundDays: 30,
    referredReward: credit(300, { ...paid, delayDays: 1, validDays: 2 }),
    referrerReward: credit(200, paid),
    moderation: { referred: 'PENDING', referrer: 'PENDING' },
  },
} as const satisfies Readonly<Record<string, ProgramDocument>>;
export type ProgramName = keyof typeof PROGRAMS;

/** Whether its tenant is connected to a payment provider. */
export const isBilled = (program: ProgramName): boolean => program.startsWith('billed');

const names = Object.keys(PROGRAMS) as readonly ProgramName[];
export const PROGRAM_NAMES = names.filter((name) => !isBilled(name));
export const BILLED_PROGRAM_NAMES = names.filter(isBilled);
