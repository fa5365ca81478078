import type { RewardRead } from '../../projections/rewards/queries.js';
import type {
  BalanceFacts,
  ReferralFacts,
  UserFacts,
} from '../../src/domain/account/account.facts.js';
import { accountJson } from '../../src/http/accounts/account.response.js';
import { ApiError } from '../../src/http/edge/api-error.js';
import { codeDetailsJson } from '../../src/http/referral-codes/code-details.response.js';
import { referralJson } from '../../src/presenting/referral.response.js';
import { balanceJson, rewardJson } from '../../src/presenting/reward.response.js';
import { ENGAGEMENT_MEDIA, SHARE_MEDIA } from '../../src/presenting/share-links.response.js';
import { codeForLinks } from '../../src/http/users/code-for-links.js';
import { ShareLinks } from '../../src/presenting/share-links.js';
import {
  emailHash,
  publicUserJson,
  selectedUserJson,
  USER_FIELDS,
  userJson,
  userListItemJson,
} from '../../src/presenting/user.response.js';

const links = new ShareLinks('https://refer.example/', { tenant: 'acme', mode: 'live' });
const around = { links, defaultProgramId: 'default' };

const bare: UserFacts = {
  accountRef: 'ref',
  person: 'p',
  accountId: 'a1',
  userId: 'u1',
  email: null,
  firstName: null,
  lastName: null,
  imageUrl: null,
  locale: null,
  countryCode: null,
  referable: true,
  customFields: {},
  segments: [],
  cookieId: null,
  referralSource: null,
  firstSeenIP: null,
  lastSeenIP: null,
  firstSeenUserAgent: null,
  lastSeenUserAgent: null,
  dateCreated: 5,
  dateBlocked: null,
  referralCodes: {},
  paymentProviderId: null,
  referredBy: null,
};

const full: UserFacts = {
  ...bare,
  email: ' Ann@Example.com ',
  firstName: 'Ann',
  lastName: 'Lee',
  imageUrl: 'https://example.com/a.png',
  locale: 'en_US',
  countryCode: 'US',
  referable: false,
  customFields: { a: 1 },
  segments: ['vip'],
  dateBlocked: 9,
  referralCodes: { default: 'ANN', other: 'ANN2' },
  paymentProviderId: 'pp',
  referredBy: { code: 'BOB', isConverted: true },
};

test('an account is shown with every member of its response', () => {
  expect(
    accountJson({
      accountId: 'a',
      currency: 'USD',
      subscription: { status: 'TRIAL' },
      referralCode: null,
    }),
  ).toEqual({
    id: 'a',
    currency: 'USD',
    subscription: { status: 'TRIAL' },
    referral: null,
  });
  const subscription = {
    status: 'PAID',
    value: 9.5,
    billingIntervalType: 'MONTH',
    billingIntervalValue: 1,
  } as const;
  expect(
    accountJson({ accountId: 'a', currency: 'EUR', subscription, referralCode: 'BOB' }),
  ).toEqual({
    id: 'a',
    currency: 'EUR',
    subscription,
    referral: { code: 'BOB' },
  });
});

describe('a user', () => {
  test('without a profile has every member', () => {
    expect(userJson(bare, around)).toEqual({
      id: 'u1',
      accountId: 'a1',
      referralCode: null,
      email: null,
      imageUrl: '',
      firstName: null,
      lastName: null,
      locale: null,
      countryCode: null,
      firstSeenIP: null,
      lastSeenIP: null,
      dateCreated: 5,
      emailHash: null,
      referralSource: null,
      shareLinks: null,
      programShareLinks: {},
      cookieId: null,
      referralCodes: {},
      referredBy: null,
      referredByCodes: [],
      referable: true,
      customFields: {},
      segments: [],
      paymentProviderId: null,
    });
  });

  test('shows every standard field, with codes, referrer and share links', () => {
    const json = userJson(full, { ...around, newlyReferred: true });
    expect(json).toMatchObject({
      referralCode: 'ANN',
      emailHash: emailHash('ann@example.com'),
      referralCodes: { default: 'ANN', other: 'ANN2' },
      referredBy: { code: 'BOB', isConverted: true, newlyReferred: true },
      referredByCodes: ['BOB'],
      shareLinks: links.flat('ANN'),
      programShareLinks: { default: links.ofProgram('ANN'), other: links.ofProgram('ANN2') },
    });
    expect(Object.keys(json)).toEqual(USER_FIELDS.standard);
    expect(userJson(full, around).referredBy?.newlyReferred).toBe(false);
    expect(JSON.stringify(json)).not.toContain('dateBlocked');
  });

  test('shows no code and no link of a referrer who is forgotten', () => {
    expect(
      userJson({ ...full, referredBy: { code: null, isConverted: false } }, around),
    ).toMatchObject({
      referredBy: { code: null, isConverted: false, newlyReferred: false },
      referredByCodes: [],
    });
  });

  test('shows the requested fields, fewer in a list, fewer still in public', () => {
    expect(selectedUserJson(full, around, ['id', 'dateBlocked'])).toEqual({
      id: 'u1',
      dateBlocked: 9,
    });
    expect(Object.keys(selectedUserJson(full, around, USER_FIELDS.standard))).toEqual(
      USER_FIELDS.standard,
    );
    expect(userListItemJson(full, 'default')).toEqual({
      id: 'u1',
      accountId: 'a1',
      email: ' Ann@Example.com ',
      firstName: 'Ann',
      lastName: 'Lee',
      referralCode: 'ANN',
      imageUrl: 'https://example.com/a.png',
      dateCreated: 5,
      emailHash: emailHash('ann@example.com'),
    });
    expect(Object.keys(publicUserJson(full, 'default'))).toEqual([
      'id',
      'accountId',
      'email',
      'firstName',
      'lastName',
      'referralCode',
      'imageUrl',
    ]);
  });

  test('has the hash of the trimmed address in lower case', () => {
    expect(emailHash(' MyEmailAddress@example.com ')).toBe('0bc83cb571cd1c50ba6f3e8a78ef1346');
  });
});

describe('a reward', () => {
  const credit: RewardRead = {
    reward_id: 'r',
    account_ref: 'ref',
    person: 'p',
    account_id: 'a',
    user_id: 'u',
    type: 'CREDIT',
    source: 'MANUAL',
    unit: 'CENTS',
    name: null,
    description: null,
    cancellable: true,
    date_given: 1,
    date_expires: null,
    date_cancelled: null,
    date_scheduled_for: null,
    currency: null,
    discount_percent: null,
    months_discount_is_valid: null,
    assigned_credit: 100,
    redeemed_credit: 30,
    redemptions: [{ id: 'x', dateRedeemed: 2, quantityRedeemed: 30 }],
    amount: null,
    fuel_tank_code: null,
    fuel_tank_type: null,
    referral_id: null,
    redeems_automatically: false,
    push_state: null,
    push_reason: null,
    external_reference: null,
  };
  const ofCredit = {
    id: 'r',
    type: 'CREDIT',
    dateGiven: 1,
    dateExpires: null,
    dateCancelled: null,
    dateScheduledFor: null,
    cancellable: true,
    rewardSource: 'MANUAL',
    accountId: 'a',
    userId: 'u',
    unit: 'CENTS',
    discountPercent: null,
    name: null,
    description: null,
    assignedCredit: 100,
    redeemedCredit: 30,
    redemptions: [{ id: 'x', dateRedeemed: 2, quantityRedeemed: 30 }],
    currency: null,
    amount: null,
    fuelTankCode: null,
    fueltankType: null,
  };

  test('of credit shows its amounts and redemptions', () => {
    expect(rewardJson(credit)).toEqual(ofCredit);
  });

  test('of a percentage or of a tank shows the members of its type', () => {
    const none = { assigned_credit: null, redeemed_credit: null, redemptions: null };
    const noneShown = { assignedCredit: null, redeemedCredit: null, redemptions: null };
    expect(
      rewardJson({ ...credit, ...none, type: 'PCT_DISCOUNT', unit: null, discount_percent: 10 }),
    ).toEqual({
      ...ofCredit,
      ...noneShown,
      type: 'PCT_DISCOUNT',
      unit: '%',
      discountPercent: 10,
    });
    expect(
      rewardJson({
        ...credit,
        ...none,
        type: 'FUELTANK',
        unit: null,
        amount: 5,
        fuel_tank_code: 'F',
        fuel_tank_type: 'CREDIT',
      }),
    ).toEqual({
      ...ofCredit,
      ...noneShown,
      type: 'FUELTANK',
      unit: null,
      amount: 5,
      fuelTankCode: 'F',
      fueltankType: 'CREDIT',
    });
  });
});

test('balances have figures of their type, the others are null', () => {
  const facts: BalanceFacts = {
    type: 'CREDIT',
    unit: 'cents',
    count: 2,
    totalRedeemedCredit: 30,
    totalAvailableCredit: 70,
    totalPendingCredit: 5,
    totalExpiredCredit: 6,
    totalCancelledCredit: 7,
    totalDiscountPercent: 20,
    referredDiscountPercent: 10,
    referrerDiscountPercent: 5,
    totalFuelTankCodes: 3,
  };
  const none = {
    count: null,
    totalAssignedCredit: null,
    totalRedeemedCredit: null,
    totalAvailableCredit: null,
    totalPendingCredit: null,
    totalExpiredCredit: null,
    totalCancelledCredit: null,

    totalDiscountPercent: null,
    referredDiscountPercent: null,
    referrerDiscountPercent: null,
    totalFuelTankCodes: null,
  };
  expect(balanceJson(facts)).toEqual({
    ...none,
    type: 'CREDIT',
    unit: 'cents',
    count: 2,
    totalAssignedCredit: 100,
    totalRedeemedCredit: 30,
    totalAvailableCredit: 70,
    totalPendingCredit: 5,
    totalExpiredCredit: 6,
    totalCancelledCredit: 7,
  });
  expect(balanceJson({ ...facts, type: 'PCT_DISCOUNT', unit: '%' })).toEqual({
    ...none,
    type: 'PCT_DISCOUNT',
    unit: '%',
    totalDiscountPercent: 20,
    referredDiscountPercent: 10,
    referrerDiscountPercent: 5,
  });
  expect(balanceJson({ ...facts, type: 'FUELTANK', unit: null })).toEqual({
    ...none,
    type: 'FUELTANK',
    unit: null,
    totalFuelTankCodes: 3,
  });
});

test('a referral is shown with every member of its response', () => {
  const facts: ReferralFacts = {
    referralId: 'f',
    programId: 'default',
    referredAccountRef: 'x',
    referredPerson: 'p',
    referrerAccountRef: 'y',
    referrerPerson: 'q',
    referralCodeUsed: 'BOB',
    shareLinkUsed: null,
    referredStatus: 'APPROVED',
    referrerStatus: 'PENDING',
    fraudSignals: { ip: { message: 'same', score: 50 } },
    referredRewardId: 'r1',
    referrerRewardId: null,
    dateReferralStarted: 1,
    dateReferralPaid: 2,
    dateReferralEnded: null,
    dateModerated: 1,
  };
  const none = {
    referredUser: null,
    referrerUser: null,
    referredReward: null,
    referrerReward: null,
  };
  const user = userJson(full, around);
  expect(referralJson(facts, { ...none, referredUser: user })).toEqual({
    id: 'f',
    programId: 'default',
    referralCodeUsed: 'BOB',
    shareLinkUsed: null,
    referredUser: user,
    referrerUser: null,
    referredReward: null,
    referrerReward: null,
    moderationStatus: 'PENDING',
    referredModerationStatus: 'APPROVED',
    referrerModerationStatus: 'PENDING',
    fraudSignals: { ip: { message: 'same', score: 50 } },
    dateReferralStarted: 1,
    dateReferralPaid: 2,
    dateReferralEnded: null,
    dateModerated: 1,
  });
  expect(referralJson({ ...facts, referrerStatus: 'DENIED' }, none).moderationStatus).toBe(
    'ACTIONED',
  );
});

test("a code is shown with its owner's public members", () => {
  const details = { code: 'ANN', dateCreated: 1, programId: 'default', owner: full, reward: null };
  expect(codeDetailsJson(details)).toEqual({
    code: 'ANN',
    dateCreated: 1,
    referrerName: 'Ann L',
    programId: 'default',
    reward: null,
  });
  const nameOf = (firstName: string | null, lastName: string | null) =>
    codeDetailsJson({ ...details, owner: { firstName, lastName } }).referrerName;
  expect([
    nameOf('Ann', null),
    nameOf(null, 'Lee'),
    nameOf(null, null),
    nameOf(' Ann ', '𝒜da'),
  ]).toEqual(['Ann', 'L', null, 'Ann 𝒜']);
  const rewardOf = (reward: Parameters<typeof codeDetailsJson>[0]['reward']) =>
    codeDetailsJson({ ...details, reward }).reward;
  expect(rewardOf({ type: 'CREDIT', unit: 'CENTS', assignedCredit: 5, currency: null })).toEqual({
    type: 'CREDIT',
    unit: 'CENTS',
    credit: 5,
  });
  expect(
    rewardOf({ type: 'PCT_DISCOUNT', discountPercent: 10, monthsDiscountIsValid: null }),
  ).toEqual({
    type: 'PCT_DISCOUNT',
    unit: '%',
    discountPercent: 10,
  });
  expect(rewardOf({ type: 'PCT_DISCOUNT', discountPercent: 10, monthsDiscountIsValid: 3 })).toEqual(
    {
      type: 'PCT_DISCOUNT',
      unit: '%',
      discountPercent: 10,
      monthsDiscountIsValid: 3,
    },
  );
  expect(rewardOf({ type: 'FUELTANK', fuelTankType: 'CREDIT', amount: 1, unit: null })).toEqual({
    type: 'FUELTANK',
    unit: null,
  });
});

describe('share links', () => {
  test('are answered by this service, in both modes', () => {
    expect(links.clean('ANN')).toBe('https://refer.example/s/acme/ANN');
    expect(links.link('ANN', 'FACEBOOK', 'MOBILE')).toBe(
      'https://refer.example/s/acme/ANN?m=FACEBOOK&e=MOBILE',
    );
    expect(
      new ShareLinks('http://127.0.0.1:3000', { tenant: 'acme', mode: 'test' }).clean('ANN'),
    ).toBe('http://127.0.0.1:3000/s/acme/test/ANN');
  });

  test('of a user are one member for each medium', () => {
    const flat = links.flat('ANN');
    const medium = [
      'shareLink',
      'facebookShareLink',
      'twitterShareLink',
      'emailShareLink',
      'linkedinShareLink',
    ];
    expect(Object.keys(flat)).toEqual([
      ...medium,
      'mobileShareLink',
      'mobileFacebookShareLink',
      'mobileTwitterShareLink',
      'mobileEmailShareLink',
      'EMBED',
      'POPUP',
      'HOSTED',
      'MOBILE',
      'EMAIL',
    ]);
    for (const engagement of ['EMBED', 'POPUP', 'HOSTED', 'MOBILE', 'EMAIL'] as const)
      expect(Object.keys(flat[engagement])).toEqual(medium);
    expect(flat.mobileTwitterShareLink).toBe(flat.MOBILE.twitterShareLink);
    expect(flat.EMBED.emailShareLink).toBe('https://refer.example/s/acme/ANN?m=EMAIL&e=EMBED');
  });

  test('of a program are sorted by engagement and medium', () => {
    expect(links.ofProgram('ANN')).toEqual({
      cleanShareLink: 'https://refer.example/s/acme/ANN',
      MOBILE: { DIRECT: 'https://refer.example/s/acme/ANN?m=DIRECT&e=MOBILE' },
      EMAIL: { DIRECT: 'https://refer.example/s/acme/ANN?m=DIRECT&e=EMAIL' },
      UNKNOWN: { DIRECT: 'https://refer.example/s/acme/ANN?m=DIRECT&e=UNKNOWN' },
    });
  });

  test('are one for each requested engagement and medium', () => {
    const all = links.urls('ANN').shareLinks;
    expect(Object.keys(all)).toEqual(['cleanShareLink', ...ENGAGEMENT_MEDIA]);
    for (const engagement of ENGAGEMENT_MEDIA)
      expect(Object.keys(all[engagement] ?? {})).toEqual(SHARE_MEDIA);
    expect(all.UNKNOWN?.UNKNOWN).toBe(all.cleanShareLink);
    const others = ENGAGEMENT_MEDIA.flatMap((engagement) =>
      SHARE_MEDIA.map((share) => all[engagement]?.[share]),
    );
    expect(new Set(others).size).toBe(ENGAGEMENT_MEDIA.length * SHARE_MEDIA.length);
    expect(links.urls('ANN', { engagement: 'UNKNOWN', share: 'UNKNOWN' })).toEqual({
      shareLinks: { cleanShareLink: links.clean('ANN'), UNKNOWN: { UNKNOWN: links.clean('ANN') } },
    });
    expect(links.urls('ANN', { engagement: 'POPUP', share: 'SMS' })).toEqual({
      shareLinks: {
        cleanShareLink: links.clean('ANN'),
        POPUP: { SMS: 'https://refer.example/s/acme/ANN?m=SMS&e=POPUP' },
      },
    });
  });

  test('name the requested program', () => {
    const codes = { default: 'ANN' };
    expect(codeForLinks(codes, ['default', 'new'], undefined, 'default')).toBe('ANN');
    const codeOf = (program: string) => {
      try {
        return codeForLinks(codes, ['default', 'new'], program, 'default');
      } catch (error) {
        return error instanceof ApiError ? error.code : error;
      }
    };
    expect([codeOf('default'), codeOf('new'), codeOf('constructor')]).toEqual([
      'ANN',
      'BAD_REQUEST',
      'PROGRAM_NOT_FOUND',
    ]);
  });
});
