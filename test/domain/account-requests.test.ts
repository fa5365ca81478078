import type { AccountRequest } from '../../src/domain/account/requests/account-request.js';
import type { NeededReservation } from '../../src/domain/need.js';
import { DEFAULT_PROGRAM } from '../../src/domain/tenant/program-document.js';
import {
  accountAttributed,
  accountOpened,
  personOf,
  referralCodeAssigned,
  referralConverted,
  referralStarted,
  userIdentified,
} from '../support/account-events.js';
import { ACME, ANN, BOB } from './support/account-scenario.js';
import {
  asked,
  aTenant,
  named,
  ownedByAnn,
  ownedByNobody,
  reservedAs,
} from './support/request-scenario.js';

const here = accountOpened(ACME);
const bob = userIdentified(ACME, 'bob', { firstName: 'Bob', lastName: 'Ray' });
const BOB_ID = personOf(ACME, 'bob');

const sync = (codes: readonly string[] = []): AccountRequest => ({
  type: 'SyncAccount',
  accountId: 'acme',
  subscription: { status: 'TRIAL' },
  currency: undefined,
  codes,
});

type UpsertUser = Extract<AccountRequest, { type: 'UpsertUser' }>;

const upsert = (over: Partial<UpsertUser> = {}): UpsertUser => ({
  type: 'UpsertUser',
  userId: 'bob',
  changes: {},
  referralCode: undefined,
  referralCodes: {},
  paymentProviderId: undefined,
  codes: [],
  ...over,
});

const reservation = (what: NeededReservation['what']): NeededReservation => ({
  kind: 'reservation',
  what,
  lapses: 0,
});
const generated = (programId: string, name = 'BobRay') =>
  reservation({ kind: 'generated-code', name, person: BOB_ID, programId });
const code = (word: string, programId = 'default') =>
  reservation({ kind: 'code', code: word, person: BOB_ID, programId });

const cause = `${ACME.accountRef}/account`;

it('an account that is about to be opened needs a name, and is opened under the name that was found', () => {
  asked([], sync()).needs({ kind: 'subject', cause, from: 0 });
  expect(asked([], sync()).with(named(cause, 'the-account')).types()).toStrictEqual([
    'AccountOpened',
    'SubscriptionChanged',
  ]);
});

it('an account that is about to be opened needs no name once it is open', () => {
  expect(asked([here], sync()).types()).toStrictEqual(['SubscriptionChanged']);
});

it('codes in the body of another request are looked up in their order, all at once', () => {
  asked([here], sync(['ONE', 'TWO'])).needs({ kind: 'code-owner', codes: ['ONE', 'TWO'] });
});

it('codes in the body of another request attribute the account to the owner that was found', () => {
  expect(
    asked([here], sync(['ANNLEE']))
      .with(ownedByAnn('ANNLEE'))
      .types(),
  ).toStrictEqual(['AccountAttributed', 'SubscriptionChanged']);
});

it('codes in the body of another request are ignored when they have no owner', () => {
  expect(
    asked([here], sync(['NONE']))
      .with(ownedByNobody('NONE'))
      .types(),
  ).toStrictEqual(['SubscriptionChanged']);
});

it('codes in the body of another request are not looked up when the account is attributed: its referrer is', () => {
  asked([here, accountAttributed('ANNLEE', ANN)], sync(['OTHER'])).needs({
    kind: 'referrer',
    party: ANN,
  });
});

it('codes in the body of another request leave the referrer to be looked up until the referral is converted', () => {
  const referred = [
    here,
    accountAttributed('ANNLEE', ANN),
    bob,
    referralStarted('referral', BOB, ANN),
  ];
  asked(referred, sync()).needs({ kind: 'referrer', party: ANN });
  expect(
    asked([...referred, referralConverted('referral', ANN)], sync(['OTHER'])).types(),
  ).toStrictEqual(['SubscriptionChanged']);
});

const apply: AccountRequest = { type: 'ApplyCode', userId: 'bob', code: 'ANNLEE' };

it('a code that is applied by name is looked up, and refused when it has no owner', () => {
  asked([here, bob], apply).needs({ kind: 'code-owner', codes: ['ANNLEE'] });
  asked([here, bob], apply).with(ownedByNobody('ANNLEE')).refused('REFERRAL_CODE_NOT_FOUND');
});

it('a code that is applied by name is about a user of the account', () => {
  asked([here], apply).with(ownedByAnn('ANNLEE')).refused('USER_NOT_FOUND');
});

describe('a user', () => {
  const cause = 'ref of bob/person';

  it('who is new needs a name first, then a code for each program', () => {
    const tenant = aTenant({ ...DEFAULT_PROGRAM, id: 'partners' });
    asked([here], upsert(), tenant).needs({ kind: 'subject', cause, from: 0 });
    asked([here], upsert({ changes: { firstName: 'Bob', lastName: 'Ray' } }), tenant)
      .with(named(cause, BOB_ID))
      .needs(generated('default'), generated('partners'));
  });

  it('keeps a code of its own without reserving it again', () => {
    const own = referralCodeAssigned(ACME, 'bob', 'MINE');
    asked([here, bob, own], upsert({ referralCode: 'mine' })).then(
      referralCodeAssigned(ACME, 'bob', 'mine', 1_700_000_000_000),
    );
  });

  it("is refused another user's code", () => {
    asked([here, bob], upsert({ referralCode: 'TAKEN' }))
      .with(reservedAs(code('TAKEN'), { refused: 'RESERVED_BY_ANOTHER' }))
      .refused('REFERRAL_CODE_TAKEN');
  });

  it('is refused a code that belongs to another program', () => {
    asked([here, bob], upsert({ referralCode: 'TAKEN' }))
      .with(reservedAs(code('TAKEN'), { refused: 'CODE_PROGRAM_CONFLICT' }))
      .refused('CODE_PROGRAM_CONFLICT');
    const own = referralCodeAssigned(ACME, 'bob', 'MINE');
    const tenant = aTenant({ ...DEFAULT_PROGRAM, id: 'partners' });
    asked([here, bob, own], upsert({ referralCodes: { partners: 'MINE' } }), tenant).refused(
      'CODE_PROGRAM_CONFLICT',
      'a code of the user belongs to another program',
    );
  });

  it('is refused a payment provider id that another account has', () => {
    const id = reservation({ kind: 'payment-provider-id', id: 'cus_1', subject: 'acme' });
    const own = referralCodeAssigned(ACME, 'bob', 'MINE');
    const decided = asked([here, bob, own], upsert({ paymentProviderId: 'cus_1' }));
    const { decision } = decided;
    const [need] = 'needs' in decision ? decision.needs : [];
    expect(need).toMatchObject({ kind: 'reservation', what: { kind: id.what.kind, id: 'cus_1' } });
    if (!need) return;
    asked([here, bob, own], upsert({ paymentProviderId: 'cus_1' }))
      .with(reservedAs(need, { refused: 'RESERVED_BY_ANOTHER' }))
      .refused('PAYMENT_PROVIDER_ID_USED');
  });

  it('gets no reservation when the request is refused', () => {
    asked([here, bob], upsert({ mustBeNew: true, referralCode: 'MINE' })).refused('USER_EXISTS');
    asked([here, bob], upsert({ referralCodes: { unheard: 'MINE' } })).refused(
      'PROGRAM_UNKNOWN',
      'referralCodes names an unknown program',
    );
    asked([here, bob], upsert({ referralCode: 'A', referralCodes: { default: 'B' } })).refused(
      'CODE_PROGRAM_CONFLICT',
      'referralCode and referralCodes name two codes for the default program',
    );
    asked([], upsert({ referralCode: 'MINE' })).refused('ACCOUNT_NOT_FOUND');
  });

  it('writes what the token grants, and nothing else', () => {
    const granted = {
      changes: {},
      referralCode: undefined,
      referralCodes: {},
      paymentProviderId: undefined,
      codes: [],
    };
    const notGranted = [
      'FIELD_NOT_GRANTED',
      'the token does not carry what the body says of firstName, referralCodes.vip',
    ] as const;
    // Before the codes, which depend on the tenant's programs.
    const request = { changes: { firstName: 'Rob' }, referralCodes: { vip: 'X' }, granted };
    for (const state of [[], [here], [here, bob]]) {
      asked(state, upsert(request)).refused(...notGranted);
      asked(state, { ...upsert(request), type: 'CheckUserFields' }).refused(...notGranted);
    }
    const stored = upsert({ changes: { firstName: 'Bob' }, granted });
    asked([here, bob], { ...stored, type: 'CheckUserFields' }).then();
  });

  it('who was forgotten and comes back gets another name', () => {
    const erased = asked([here, bob], {
      type: 'ForgetUser',
      userId: 'bob',
      doNotTrack: false,
      preserveEmptyAccount: true,
    });
    const { decision } = erased;
    const events = 'events' in decision ? decision.events : [];
    asked([here, bob, ...events], upsert())
      .with(named(cause, BOB_ID))
      .needs({ kind: 'subject', cause, from: 1 });
  });
});

const events: AccountRequest = {
  type: 'ReceiveUserEvents',
  userId: 'bob',
  events: [{ id: undefined, key: 'purchase', fields: {}, dateTriggered: undefined }],
  idempotencyKey: 'once',
};
const referred = [
  here,
  bob,
  accountAttributed('ANNLEE', ANN),
  referralStarted('referral', BOB, ANN),
];

it('events of a user are taken without the referrer when no program depends on one', () => {
  asked(referred, events).then({
    type: 'UserEventReceived',
    at: 1_700_000_000_000,
    userEventId: 'command/event 0',
    person: BOB_ID,
    batch: 'batch of bob once',
    content: {
      subject: BOB_ID,
      value: {
        id: 'command/event 0',
        key: 'purchase',
        fields: {},
        dateTriggered: 1_700_000_000_000,
      },
    },
  });
});

it('events of a user carry a keyed hash of the id that the client gave', () => {
  const event = { id: 'order-1', key: 'purchase', fields: {}, dateTriggered: undefined };
  const { decision } = asked(referred, {
    type: 'ReceiveUserEvents',
    userId: 'bob',
    events: [event],
    idempotencyKey: undefined,
  });
  expect(decision).toMatchObject({ events: [{ idRef: 'event of bob order-1' }] });
});

it('events of a user need the referrer when a program converts on an event', () => {
  const converting = aTenant({
    ...DEFAULT_PROGRAM,
    conversion: { on: 'EVENT', key: 'purchase' },
  });
  asked(referred, events, converting).needs({ kind: 'referrer', party: ANN });
});
