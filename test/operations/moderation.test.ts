import { decidedReferrals, undoing } from '../../src/operations/referrals/decided-referrals.js';
import { moderate, undoDecision } from '../../src/operations/referrals/moderate.js';
import { signalInWords } from '../../src/operations/referrals/signal-in-words.js';
import { calledBy } from '../support/called-operations.js';
import { everythingProjected } from '../support/everything-projected.js';
import { aPerson } from '../support/people.js';
import { useSharedService, useTenant } from '../support/running-service.js';

const referral = {
  referralId: 'r1',
  referredStatus: 'APPROVED',
  referrerStatus: 'DENIED',
} as const;
test.each([
  ['both', ['REFERRED_DENIED', 'REFERRER_APPROVED']],
  ['referred', ['REFERRED_DENIED']],
  ['referrer', ['REFERRER_APPROVED']],
  ['none', ['REFERRED_DENIED', 'REFERRER_APPROVED']],
] as const)('undoing a decision reverses the sides that it changed: %s', (sides, actions) => {
  const decision = { sides } as Parameters<typeof undoing>[0]['decision'];
  const undone = undoing({ referral, decision });
  expect(undone.map(({ action }) => action)).toEqual(actions);
  expect(undone[0]?.seen).toEqual({ referred: 'APPROVED', referrer: 'DENIED' });
});

test('undoing a decision leaves a side that waits', () => {
  const decision = { sides: 'both' } as Parameters<typeof undoing>[0]['decision'];
  expect(undoing({ referral: { ...referral, referrerStatus: 'PENDING' }, decision })).toHaveLength(
    1,
  );
});

test('a signal is a sentence; an unknown one has its recorded message', () => {
  expect(signalInWords('email', { message: 'm' })).toMatch(/apart from \+tag/);
  expect(signalInWords('constructor', { message: 'recorded' })).toBe('recorded');
});

const running = useSharedService();
const tenant = useTenant(running);
const scope = () => ({ tenant: tenant.alias, mode: 'live' as const });
const decide = (operation: Parameters<typeof calledBy>[2], request: object, key?: string) =>
  calledBy(running.service, 'sue', operation, { ...scope(), ...request }, key);

const decided = async () => {
  await everythingProjected(running.service.service.core);
  const { total, decisions } = await decidedReferrals(running.service.service.core, scope(), {
    limit: 10,
    offset: 0,
  });
  return {
    total,
    decisions: decisions.map(({ decidedAt: _, referral: one, ...rest }) => ({
      ...rest,
      statuses: [one.referredStatus, one.referrerStatus],
    })),
  };
};

test('decisions of an operator are listed with operator and reason, and undone once', async () => {
  const ann = await aPerson(tenant.live);
  await aPerson(tenant.live, {}, { referral: { code: ann.code } });
  const { body } = await tenant.live.get('/referrals');
  const [{ id }] = body['referrals'] as [{ id: string }];
  const by = { operator: 'sue', isByOperator: true };

  const denial = { referrals: [{ id }], action: 'DENIED', reason: 'one household' };
  await decide(moderate, denial);
  expect(await decided()).toEqual({
    total: 1,
    decisions: [{ ...by, reason: 'one household', statuses: ['DENIED', 'DENIED'] }],
  });
  await decide(undoDecision, { referral: id }, 'undo');
  expect((await decided()).decisions).toEqual([
    { ...by, reason: null, statuses: ['APPROVED', 'APPROVED'] },
  ]);
  await decide(undoDecision, { referral: id }, 'undo');
  expect((await decided()).decisions).toMatchObject([{ statuses: ['APPROVED', 'APPROVED'] }]);
  const old = { referred: 'DENIED', referrer: 'DENIED' };
  await expect(
    decide(moderate, { referrals: [{ id, seen: old }], action: 'DENIED' }),
  ).rejects.toThrow('decided meanwhile');
});
