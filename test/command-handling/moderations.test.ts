// Over 5 s: a process dies after appends of moderations over several accounts.
import type { AccountEvent } from '../../src/domain/account/account.events.js';
import { moderationIdOf } from '../../src/command-handling/processes/moderation-process.js';
import { accepted, aRequest, refOf, SharedLedger } from './support/processes.js';
import { CountingLog, DyingLog } from './support/troubled-logs.js';
import { openOnce } from '../support/opened.js';

/** Both sides are paid in credit from the start. */
const PROGRAM = {
  id: 'default',
  referredReward: { type: 'CREDIT', unit: 'CENTS', assignedCredit: 100 },
  referrerReward: { type: 'CREDIT', unit: 'CENTS', assignedCredit: 200, when: 'STARTED' },
};

const ledger = openOnce(() => SharedLedger.open(PROGRAM));
const one = openOnce(() => ledger.process());
const other = openOnce(() => ledger.process());

const { scope } = aRequest();
const cause = {
  correlationId: 'c',
  causationId: 'c',
  actor: { kind: 'job', id: 'finish-moderation' },
  idempotency: null,
} as const;

/**
 * Accounts `<name>-0` … of which each was referred by the owner of the code, and the referrer has
 * its reward. Returns their referrals.
 */
async function referrals(
  name: string,
  code: string,
  referrerAccount: string,
  count: number,
): Promise<string[]> {
  return Promise.all(
    Array.from({ length: count }, async (_, index) => {
      accepted(await one.sync(`${name}-${index}`, 'TRIAL', [code]));
      accepted(await one.upsert(`${name}-${index}`, 'user'));
      const { referralId, referrer, referrerEarned, programId, programVersion, dateStarted } =
        await one.referralOf(`${name}-${index}`);
      if (!referrerEarned) throw new Error('the referrer has earned nothing');
      const terms = { terms: referrerEarned, programId, programVersion, earnedAt: dateStarted };
      accepted(
        await one.send(referrerAccount, {
          type: 'GrantReferrerReward',
          referralId,
          person: referrer.person,
          ...terms,
        }),
      );
      return referralId;
    }),
  );
}

const statusesOf = async (accountId: string) => {
  const { referredStatus, referrerStatus } = await one.referralOf(accountId);
  return [referredStatus, referrerStatus];
};
const cancelledIn = async (accountId: string) =>
  (await one.rewardsOf(accountId)).filter(({ dateCancelled }) => dateCancelled !== null).length;
const holdsIn = async (accountId: string) => (await one.account(accountId)).holds.toObject();
const typesOf = (facts: readonly AccountEvent[], ...types: readonly AccountEvent['type'][]) =>
  facts.map(({ type }) => type).filter((type) => types.includes(type));

const all = <T extends string>(ids: readonly string[], action: T): Record<string, T> =>
  Object.fromEntries(ids.map((id) => [id, action]));

describe('moderating 40 referrals of many accounts', () => {
  let ids: string[];
  beforeAll(async () => {
    await one.userWithCode('big-referrer', 'ann', 'BIGANN');
    await one.userWithCode('big-second', 'eve', 'BIGEVE');
    ids = [
      ...(await referrals('big-a', 'BIGANN', 'big-referrer', 24)),
      ...(await referrals('big-b', 'BIGEVE', 'big-second', 16)),
    ];
  });

  it('changes all of them', async () => {
    expect(await other.moderate(all(ids, 'DENIED'))).toMatchObject({ reasons: [] });
    for (const accountId of ['big-a-0', 'big-a-23', 'big-b-0', 'big-b-15']) {
      expect(await statusesOf(accountId)).toEqual(['DENIED', 'DENIED']);
      expect(await cancelledIn(accountId)).toBe(1);
    }
    expect([await cancelledIn('big-referrer'), await cancelledIn('big-second')]).toEqual([24, 16]);
    expect([await holdsIn('big-referrer'), await holdsIn('big-second')]).toEqual([{}, {}]);
  });

  it('loads its accounts side by side, each once, and a bounded number concurrently', async () => {
    const counted = await ledger.process({ around: (log) => new CountingLog(log) });
    const unknown = ids.map((id) => `${id}x`);
    expect(
      (await counted.moderate(all([...ids.slice(0, 20), ...unknown.slice(20)], 'APPROVED')))
        .reasons,
    ).toHaveLength(20);
    expect(counted.log).toMatchObject({ streamReads: 20, atOnceMax: 16 });
  });

  it('finds no unknown referral, and none of the other mode', async () => {
    const nowhere = refOf('missing') + '0'.repeat(16);
    expect(
      (await one.moderate({ [nowhere]: 'DENIED', nonsense: 'DENIED', [ids[0] ?? '']: 'APPROVED' }))
        .reasons,
    ).toEqual([`${nowhere}: there is no such referral`, 'nonsense: there is no such referral']);
    const test = { ...aRequest(), scope: { ...scope, mode: 'test' as const } };
    expect((await one.moderate({ [ids[0] ?? '']: 'APPROVED' }, test)).reasons).toHaveLength(1);
    expect(await statusesOf('big-a-0')).toEqual(['DENIED', 'DENIED']);
  });
});

// Requested, prepared ×3, agreed, applied ×3, completed: nine appends for two referred accounts
// and their referrer.

async function dieAfter(
  appends: number,
  name: string,
  action: 'DENIED' | 'REFERRER_DENIED',
  spend: boolean,
) {
  const code = `D${appends}${name.replace(/[^a-z]/g, '')}`.toUpperCase();
  const referrer = `${name}-referrer-${appends}`;
  await one.userWithCode(referrer, 'ann', code);
  const ids = await referrals(`${name}-${appends}`, code, referrer, 2);
  if (spend) {
    const [reward] = await one.rewardsOf(`${name}-${appends}-1`);
    accepted(
      await one.send(`${name}-${appends}-1`, {
        type: 'RedeemCredit',
        rewardId: reward?.rewardId ?? '',
        amount: 1,
        unit: 'CENTS',
      }),
    );
  }
  const meta = aRequest(`dies-${name}-${appends}`);
  const dying = await ledger.process({ around: (log) => new DyingLog(log, appends) });
  const died = await dying.moderate(all(ids, action), meta).then(
    () => false,
    () => true,
  );
  expect([died, (dying.log as DyingLog).appends]).toEqual([true, appends]);
  await dying.close();
  return {
    ids,
    referrer,
    accounts: [0, 1].map((index) => `${name}-${appends}-${index}`),
    meta,
    moderationId: moderationIdOf(meta, 0),
  };
}

it.each([1, 3, 5, 7, 9])(
  'a process that dies in the middle after append %i is finished by the next reader: everything is applied, once',
  async (appends) => {
    const { referrer, accounts, meta, ids, moderationId } = await dieAfter(
      appends,
      'dead',
      'DENIED',
      false,
    );
    const finishing = await ledger.process();
    expect(await finishing.moderations.drive(scope, moderationId, cause)).toMatchObject({
      reasons: [],
    });
    await finishing.close();
    for (const accountId of accounts) {
      expect(await statusesOf(accountId)).toEqual(['DENIED', 'DENIED']);
      expect(await cancelledIn(accountId)).toBe(1);
      expect(await holdsIn(accountId)).toEqual({});
      expect(
        typesOf(
          await one.factsOf(accountId),
          'ModerationPrepared',
          'ReferralModerated',
          'RewardCancelled',
        ),
      ).toEqual(['ModerationPrepared', 'ReferralModerated', 'RewardCancelled']);
    }
    expect([await cancelledIn(referrer), await holdsIn(referrer)]).toEqual([2, {}]);
    const before = await one.log.head();
    await other.moderations.drive(scope, moderationId, cause);
    expect(await other.moderate(all(ids, 'DENIED'), meta)).toMatchObject({ reasons: [] });
    expect(await one.log.head()).toBe(before);
  },
);

// Requested, prepared ×2 (the third account refuses), refused, released ×2.
it.each([1, 3, 4, 5])(
  'a process that dies in the middle after append %i of one that is refused leaves nothing held or changed',
  async (appends) => {
    const { referrer, accounts, meta, ids, moderationId } = await dieAfter(
      appends,
      'deadrefused',
      'DENIED',
      true,
    );
    const finishing = await ledger.process();
    const reasons = [`${ids[1]}: the referred side's reward has been redeemed`];
    expect(await finishing.moderations.drive(scope, moderationId, cause)).toMatchObject({
      reasons,
    });
    await finishing.close();
    for (const accountId of accounts) {
      expect(await statusesOf(accountId)).toEqual(['APPROVED', 'APPROVED']);
      expect([await cancelledIn(accountId), await holdsIn(accountId)]).toEqual([0, {}]);
    }
    expect([await cancelledIn(referrer), await holdsIn(referrer)]).toEqual([0, {}]);
    expect(await other.moderate(all(ids, 'DENIED'), meta)).toMatchObject({ reasons });
  },
);

it.each([
  ['DENIED', 'refused', ['ReferralModerated', 'RewardCancelled']],
  ['APPROVED', 'accepted', ['ReferralModerated', 'CreditRedeemed']],
] as const)(
  'a redemption that meets a moderation under way waits for its outcome: %s',
  async (action, kind, facts) => {
    const name = `meets-${action.toLowerCase()}`;
    await one.userWithCode(`${name}-referrer`, 'ann', `MEETS${action}`);
    const [id = ''] = await referrals(name, `MEETS${action}`, `${name}-referrer`, 1);
    const [reward] = await one.rewardsOf(`${name}-0`);
    const { process: slow, gate } = await ledger.gated((_, events) =>
      events.some(({ type }) => type === 'ModerationAgreed'),
    );
    const moderated = slow.moderate({ [id]: action });
    await gate.reached;
    // The reward is held now, and nothing is decided. The redemption carries the moderation on.
    const redeemed = await other.send(`${name}-0`, {
      type: 'RedeemCredit',
      rewardId: reward?.rewardId ?? '',
      amount: 1,
      unit: 'CENTS',
    });
    expect(redeemed.kind).toBe(kind);
    gate.open();
    expect(await moderated).toMatchObject({ reasons: [] });
    expect(
      typesOf(
        await one.factsOf(`${name}-0`),
        'ReferralModerated',
        'CreditRedeemed',
        'RewardCancelled',
      ),
    ).toEqual(facts);
  },
);

const WAITERS = 20;
const REFERRALS = 8;

it('commands that wait for a held account share one run of the moderation: each reads its own account only', async () => {
  await one.userWithCode('herd-referrer', 'ann', 'HERDANN');
  const ids = await referrals('herd', 'HERDANN', 'herd-referrer', REFERRALS);
  // Requested, then every account prepared: the referrer is held when the process dies.
  const dying = await ledger.process({ around: (log) => new DyingLog(log, 1 + REFERRALS + 1) });
  await expect(dying.moderate(all(ids, 'REFERRER_DENIED'))).rejects.toThrow();
  await dying.close();
  expect(Object.keys(await holdsIn('herd-referrer'))).toHaveLength(REFERRALS);
  const waiting = await ledger.process({ around: (log) => new CountingLog(log) });
  const redemption = { type: 'RedeemAccountCredit', amount: 1, unit: 'CENTS' } as const;
  const outcomes = await Promise.all(
    Array.from({ length: WAITERS }, () => waiting.send('herd-referrer', redemption)),
  );
  expect(outcomes.map((outcome) => outcome.kind === 'refused' && outcome.refused)).toEqual(
    Array.from({ length: WAITERS }, () => 'REDEMPTION_NOT_POSSIBLE'),
  );
  // A drive reads each account a few times; a waiter reads its own when it is held and when it is
  // decided.
  expect((waiting.log as CountingLog).streamReads).toBeLessThan(4 * REFERRALS + 4 * WAITERS);
});

it('moderations that share accounts do not wait for each other when one has no hold on the first account: the other one is refused', async () => {
  // The referrer's account comes first in the order of preparing, and is absent then.
  const names = Array.from({ length: 64 }, (_, index) => `circle-${index}`);
  const refOf = (accountId: string) => one.names.accountRef(scope, accountId);
  const referrer = names.find((name) => refOf(name) < refOf('circled-0'))!;
  await one.userWithCode(referrer, 'ann', 'CIRCLE');
  const ids = await referrals('circled', 'CIRCLE', referrer, 1);
  accepted(await one.send(referrer, { type: 'ForgetAccount', doNotTrack: false }));
  // Requested, nothing to hold, the friend's account prepared.
  const dying = await ledger.process({ around: (log) => new DyingLog(log, 2) });
  const first = aRequest('circle-first');
  await expect(dying.moderate(all(ids, 'DENIED'), first)).rejects.toThrow();
  await dying.close();
  expect(Object.values(await holdsIn('circled-0'))).toEqual([moderationIdOf(first, 0)]);
  await one.userWithCode(referrer, 'ann', 'CIRCLE2');
  const second = await one.moderate(all(ids, 'DENIED'), aRequest('circle-second'));
  const again = await one.moderate(all(ids, 'DENIED'), first);
  const gaveWay = [`${ids[0]}: another moderation of it is under way`];
  expect([second.reasons, again.reasons].sort()).toEqual([[], gaveWay]);
  expect([await holdsIn(referrer), await holdsIn('circled-0')]).toEqual([{}, {}]);
  expect(await statusesOf('circled-0')).toEqual(['DENIED', 'DENIED']);
});

it('moderations that share accounts in opposite order and in two processes all complete, one after the other in every account', async () => {
  await one.userWithCode('shared-a', 'ann', 'SHAREDANN');
  await one.userWithCode('shared-b', 'eve', 'SHAREDEVE');
  const ids = [
    ...(await referrals('shared-x', 'SHAREDANN', 'shared-a', 6)),
    ...(await referrals('shared-y', 'SHAREDEVE', 'shared-b', 6)),
  ];
  const outcomes = await Promise.all([
    one.moderate(all(ids, 'DENIED')),
    other.moderate(all([...ids].reverse(), 'APPROVED')),
    one.moderate(all([...ids.slice(6), ...ids.slice(0, 6)], 'REFERRER_DENIED')),
    other.moderate(all(ids.slice(3, 9), 'REFERRED_DENIED')),
  ]);
  expect(outcomes.map(({ reasons }) => reasons)).toEqual([[], [], [], []]);
  const accounts = ['shared-x', 'shared-y'].flatMap((name) =>
    Array.from({ length: 6 }, (_, index) => `${name}-${index}`),
  );
  // All or nothing, so all accounts that took part in the same moderations have seen them in the
  // same order.
  const orders = await Promise.all(
    accounts.map(async (accountId) =>
      (await one.factsOf(accountId)).flatMap((event) =>
        event.type === 'ReferralModerated' ? [event.moderationId] : [],
      ),
    ),
  );
  const ofAll = new Set(orders[0]);
  for (const order of orders)
    expect(order.filter((moderationId) => ofAll.has(moderationId))).toEqual(orders[0]);
  for (const accountId of ['shared-a', 'shared-b', ...accounts])
    expect(await holdsIn(accountId)).toEqual({});
  const balances = await Promise.all(
    accounts.map(
      async (accountId) => [await statusesOf(accountId), await cancelledIn(accountId)] as const,
    ),
  );
  for (const [[referred], cancelled] of balances)
    expect(cancelled).toBe(referred === 'DENIED' ? 1 : 0);
});
