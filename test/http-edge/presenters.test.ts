import type { ReferralFacts, UserFacts } from '../../src/domain/account/account.facts.js';
import { ApiError } from '../../src/http/edge/api-error.js';
import { codeDetailsJson } from '../../src/http/referral-codes/code-details.response.js';
import { referralJson } from '../../src/presenting/referral.response.js';
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
import { aProfile } from '../support/account-events.js';

const links = new ShareLinks('https://refer.example/', { tenant: 'acme', mode: 'live' });
const around = { links, defaultProgramId: 'default' };

const bare: UserFacts = {
  accountRef: 'ref',
  person: 'p',
  accountId: 'a1',
  userId: 'u1',
  ...aProfile('u1', { email: null }),
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

test('a user shows every standard field, with codes, referrer and share links', () => {
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
  expect([...Object.keys(json), 'lastInitial']).toEqual(USER_FIELDS.standard);
  expect(userJson(full, around).referredBy?.newlyReferred).toBe(false);
  expect(JSON.stringify(json)).not.toContain('dateBlocked');
});

test('a user shows no code and no link of a referrer who is forgotten', () => {
  expect(
    userJson({ ...full, referredBy: { code: null, isConverted: false } }, around),
  ).toMatchObject({
    referredBy: { code: null, isConverted: false, newlyReferred: false },
    referredByCodes: [],
  });
});

test('a user shows the requested fields, fewer in a list, fewer still in public', () => {
  const user = userJson(full, around);
  expect(selectedUserJson(user, full, ['id', 'dateBlocked'])).toEqual({
    id: 'u1',
    dateBlocked: 9,
  });
  expect(Object.keys(selectedUserJson(user, full, USER_FIELDS.standard))).toEqual(
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
    'lastInitial',
    'referralCode',
    'imageUrl',
  ]);
});

test('a user has the hash of the trimmed address in lower case', () => {
  expect(emailHash(' MyEmailAddress@example.com ')).toBe('0bc83cb571cd1c50ba6f3e8a78ef1346');
});

test('a referral is pending while one of its sides is', () => {
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
  expect(referralJson(facts, none)).toMatchObject({
    moderationStatus: 'PENDING',
    fraudSignals: facts.fraudSignals,
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
});

const REWARD = { unit: null, currency: null, monthsDiscountIsValid: null };
test.each([
  [
    { type: 'CREDIT', unit: 'CENTS', assignedCredit: 5 },
    { unit: 'CENTS', credit: 5 },
  ],
  [
    { type: 'PCT_DISCOUNT', discountPercent: 10 },
    { unit: '%', discountPercent: 10 },
  ],
  [
    { type: 'PCT_DISCOUNT', discountPercent: 10, monthsDiscountIsValid: 3 },
    { unit: '%', discountPercent: 10, monthsDiscountIsValid: 3 },
  ],
  [{ type: 'FUELTANK', fuelTankType: 'CREDIT', amount: 1 }, { unit: null }],
])('a code shows the reward %j as %j', (reward, shown) => {
  const details = { code: 'ANN', dateCreated: 1, programId: 'default', owner: full };
  const json = codeDetailsJson({ ...details, reward: { ...REWARD, ...reward } as never });
  expect(json.reward).toEqual({ type: reward.type, ...shown });
});

test('share links are answered by this service, in both modes', () => {
  expect(links.clean('ANN')).toBe('https://refer.example/s/acme/ANN');
  expect(links.link('ANN', 'FACEBOOK', 'MOBILE')).toBe(
    'https://refer.example/s/acme/ANN?m=FACEBOOK&e=MOBILE',
  );
  expect(
    new ShareLinks('http://127.0.0.1:3000', { tenant: 'acme', mode: 'test' }).clean('ANN'),
  ).toBe('http://127.0.0.1:3000/s/acme/test/ANN');
});

test('share links are one for each requested engagement and medium', () => {
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

test('share links name the requested program', () => {
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
