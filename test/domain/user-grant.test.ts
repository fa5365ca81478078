import { Map } from 'immutable';
import type { Profile } from '../../src/domain/account/account.events.js';
import type { UserState } from '../../src/domain/account/account.state.js';
import { emptyProfile } from '../../src/domain/account/users/identify-user.js';
import { withCallOrigin } from '../../src/domain/account/users/call-origin.js';
import { NO_CHANGES } from './support/commands.js';
import { fieldsNotGranted, type UserFields } from '../../src/domain/account/users/user-grant.js';

const fields = (over: Partial<UserFields> = {}): UserFields => ({
  ...NO_CHANGES,
  ...over,
});

const profile: Profile = {
  ...emptyProfile('u'),
  email: 'ann@example.com',
  segments: ['vip'],
  customFields: { plan: 'x' },
  referable: false,
};
const user: UserState = {
  person: 'p',
  profile,
  dateCreated: 1,
  dateBlocked: null,
  codes: Map(),
  primaryCodes: Map({ default: 'ANN' }),
};
const stored = {
  user,
  defaultProgramId: 'default',
  paymentProviderId: 'cus_1',
  attributedCode: 'Bob',
};
const against = (asked: Partial<UserFields>, granted: Partial<UserFields> = {}) =>
  fieldsNotGranted(fields(asked), fields(granted), stored);

test('stored values may be repeated with any write token', () => {
  expect(
    against({
      changes: {
        email: 'ann@example.com',
        firstName: null,
        referable: false,
        customFields: { plan: 'x', gone: null },
        segments: ['vip', '~other'],
      },
      referralCode: 'ANN',
      referralCodes: { default: 'ANN' },
      paymentProviderId: 'cus_1',
      codes: ['BOB'],
    }),
  ).toStrictEqual([]);
});

test('a changed value must be in the grant', () => {
  const asked: Partial<UserFields> = {
    changes: {
      email: null,
      firstName: 'Ann',
      referable: null,
      customFields: { plan: null, seats: 3 },
      segments: ['~vip', 'new'],
    },
    referralCode: 'NEW',
    referralCodes: { second: 'TWO' },
    paymentProviderId: 'cus_2',
    codes: ['EVE'],
  };
  expect(against(asked)).toStrictEqual([
    'email',
    'firstName',
    'referable',
    'customFields.plan',
    'customFields.seats',
    'segments',
    'referralCode',
    'referralCodes.second',
    'paymentProviderId',
    'referredBy',
  ]);
  expect(against(asked, asked)).toStrictEqual([]);
  expect(against({ changes: { email: 'a@b.cc' } }, { changes: { email: 'A@b.cc' } })).toStrictEqual(
    ['email'],
  );
  expect(against({ changes: { referable: true } }, { changes: { referable: null } })).toStrictEqual(
    [],
  );
  expect(
    against({ changes: { segments: ['~*'] } }, { changes: { segments: ['new'] } }),
  ).toStrictEqual(['segments']);
});

test('names that every object has are no values of a grant', () => {
  expect(
    against({ changes: { customFields: { constructor: 'x' } }, referralCodes: { toString: 'X' } }),
  ).toStrictEqual(['customFields.constructor', 'referralCodes.toString']);
});

test('a new user has only the defaults stored', () => {
  const noGrant = {
    user: undefined,
    defaultProgramId: 'default',
    paymentProviderId: null,
    attributedCode: null,
  };
  expect(
    fieldsNotGranted(fields({ changes: { email: null, referable: true } }), fields(), noGrant),
  ).toStrictEqual([]);
  expect(
    fieldsNotGranted(fields({ changes: { email: 'x' }, referralCode: 'X' }), fields(), noGrant),
  ).toStrictEqual(['email', 'referralCode']);
});

test('the first location stays, the last one is replaced', () => {
  const first = withCallOrigin(profile, {
    ip: '192.0.2.1',
    userAgent: 'One',
    source: 'blog.example',
  });
  const second = withCallOrigin(first, {
    ip: '192.0.2.2',
    userAgent: null,
    source: 'other.example',
  });
  expect(second).toStrictEqual({
    ...profile,
    referralSource: 'blog.example',
    firstSeenIP: '192.0.2.1',
    lastSeenIP: '192.0.2.2',
    firstSeenUserAgent: 'One',
    lastSeenUserAgent: 'One',
  });
  expect(withCallOrigin(second, undefined)).toBe(second);
});
