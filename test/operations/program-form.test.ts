import { DEFAULT_PROGRAM } from '../../src/domain/tenant/program-document.js';
import {
  ASSISTANT,
  assistedProgram,
  documentWith,
  FIELDS_BY_LINES,
  PROGRAM_FORM,
  textsOf,
} from '../../src/operations/tenants/program-form.js';
import { parseProgram, PROGRAM_SCHEMA } from '../../src/operations/tenants/program-schema.js';

const TANK = {
  type: 'FUELTANK',
  fuelTankCodes: ['A', 'B'],
  fuelTankType: 'CREDIT',
  amount: 5,
  unit: 'CENTS',
  name: 'a tank',
};
const DOCUMENTS: Readonly<Record<string, object>> = {
  'the default program': DEFAULT_PROGRAM,
  'one with nothing but an id': { id: 'p' },
  'one without rewards': { id: 'p', referredReward: null, referrerReward: null },
  'one with a pool of codes': { id: 'p', referredReward: { ...TANK, when: 'CONVERTED' } },
  'one with members that have no field': {
    id: 'p',
    default: true,
    rateLimit: { referrals: 2 },
    referrerReward: {
      type: 'CREDIT',
      unit: 'CENTS',
      assignedCredit: 700,
      currency: 'USD',
      payTo: 'provider',
      limit: { total: 3 },
      delayDays: 14,
      validDays: 90,
    },
    conversion: { on: 'EVENT', key: 'paid', firstTimeOnly: true },
    moderation: { referred: 'PENDING' },
    fraud: { ip: 'deny' },
    refundDays: 30,
    automaticRedemption: ['CREDIT'],
  },
};

test.each(Object.entries(DOCUMENTS))('the fields of %s change nothing', (_name, document) => {
  expect(documentWith(document, textsOf(document))).toEqual(document);
});

test('a reward of another type keeps its terms and none of the value', () => {
  const { id, referrerReward } = DOCUMENTS['one with members that have no field'] as {
    readonly id: string;
    readonly referrerReward: object;
  };
  const document = { id, referrerReward };
  const texts = {
    ...textsOf(document),
    referrerReward: 'PCT_DISCOUNT',
    'referrerReward.discountPercent': '5',
  };
  expect(documentWith(document, texts)).toEqual({
    id,
    referrerReward: {
      type: 'PCT_DISCOUNT',
      discountPercent: 5,
      limit: { total: 3 },
      delayDays: 14,
      validDays: 90,
    },
  });
});

test('a number that is none is refused at its field', () => {
  const texts = { ...textsOf(DEFAULT_PROGRAM), 'referrerReward.assignedCredit': '1.5' };
  const parsed = parseProgram(documentWith(DEFAULT_PROGRAM, texts));
  const problems = 'problems' in parsed ? (parsed.problems as readonly string[]) : [];
  const [beginning = ''] =
    Object.entries(FIELDS_BY_LINES).find(([, name]) => name === 'referrerReward.assignedCredit') ??
    [];
  expect(problems.filter((line) => line.startsWith(beginning))).toHaveLength(1);
});

test('each combination of the three choices is a program that the schema takes', () => {
  for (const [friend] of ASSISTANT.friend)
    for (const [referrer] of ASSISTANT.referrer)
      for (const [when] of ASSISTANT.when) {
        const made = assistedProgram('default', { friend, referrer, when });
        expect(made).toMatchObject({ id: 'default' });
        expect(parseProgram(made)).not.toHaveProperty('problems');
      }
  expect(assistedProgram('default', { friend: 'credit', referrer: '', when: '' })).toBeUndefined();
});

test('every field outside of rewards is a member that the schema knows', () => {
  const known = Object.keys(PROGRAM_SCHEMA.properties);
  for (const { path } of PROGRAM_FORM.flatMap(({ fields }) => fields))
    expect(known).toContain(path.split('/')[1]);
});

test.each([undefined, null, 7, 'text', [], { referredReward: 7 }])(
  'the fields of %j, which is no program, are empty or its texts',
  (document) => {
    expect(Object.values(textsOf(document)).every((text) => typeof text === 'string')).toBe(true);
    expect(documentWith(document, textsOf(document))).toEqual(expect.any(Object));
  },
);
