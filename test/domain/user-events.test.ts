import type {
  AccountEvent,
  UserEventContent,
  WithheldReason,
} from '../../src/domain/account/account.events.js';
import { Map } from 'immutable';
import {
  receiveUserEvents,
  type ReceiveUserEvents,
} from '../../src/domain/account/users/user-events.js';
import { personal } from '../../src/domain/personal.js';
import { NOTHING_PROVIDED } from '../../src/domain/need.js';
import type { EventReward, Program } from '../../src/domain/program.js';
import {
  accountAttributed,
  credit,
  referralConverted,
  referralStarted,
  rewardGranted,
  rewardWithheld,
  subscriptionChanged,
  userIdentified,
} from '../support/account-events.js';
import {
  ACME,
  ANN,
  annStands,
  aProgram,
  BLOCKED,
  BOB,
  fold,
  given,
  NOW,
  ON_PURCHASE,
  TEN_DOLLARS,
  terms,
  HERE,
} from './support/account-scenario.js';
import { PAID, receiveEvents, syncAccount } from './support/commands.js';

const content = (over: Partial<UserEventContent> = {}): UserEventContent => ({
  id: 'event',
  key: 'purchase',
  fields: {},
  dateTriggered: NOW,
  ...over,
});
const cents = (assigned: number) => ({ ...terms(credit(assigned)) });

const rule = (over: Partial<EventReward> = {}): EventReward => ({
  rule: 'eventRewards/USER/purchase',
  key: 'purchase',
  to: 'USER',
  firstTimeOnly: false,
  minimum: null,
  terms: cents(5),
  ...over,
});

const receive = (
  program: Program | null,
  contents: readonly UserEventContent[] = [content()],
  over: Partial<ReceiveUserEvents> = {},
): ReceiveUserEvents =>
  receiveEvents(
    contents.map((each, index) => ({
      userEventId: `received-${index}`,
      idRef: null,
      content: each,
    })),
    program,
    over,
  );

const received = (
  index = 0,
  of: UserEventContent = content(),
  over: object = {},
): AccountEvent => ({
  type: 'UserEventReceived',
  at: NOW,
  userEventId: `received-${index}`,
  person: BOB.person,
  batch: null,
  content: personal(BOB.person, of),
  ...over,
});
const earlier = (of: UserEventContent = content(), over: object = {}): AccountEvent =>
  received(9, of, { at: 1_300, ...over });
const fromEvent = (index = 0, over: object = {}) =>
  rewardGranted(`received-${index} eventRewards/USER/purchase`, BOB, credit(5), {
    at: NOW,
    source: 'EVENT',
    programId: 'default',
    programVersion: 1,
    rule: 'eventRewards/USER/purchase',
    ...over,
  });

const referred = [...HERE, accountAttributed('ANNLEE', ANN), referralStarted('referral', BOB, ANN)];

it('events are recorded in their order, with any key', () => {
  const [first, second] = [
    content({ id: 'a', key: 'visit' }),
    content({ id: 'b', fields: { total: 3 } }),
  ];
  given(HERE)
    .when(receive(null, [first, second]))
    .then(received(0, first), received(1, second));
});

it('events need their user', () => {
  given().when(receive(null)).refused('USER_NOT_FOUND');
  given(HERE)
    .when(receive(null, [content()], { userId: 'cat' }))
    .refused('USER_NOT_FOUND');
});

it('events of one batch are received once; another batch, or none, is another time', () => {
  const before = [...HERE, earlier(content(), { batch: 'batch', at: NOW - 1 })];
  given(before)
    .when(receive(null, [content()], { batch: 'batch' }))
    .refused('EVENTS_ALREADY_RECEIVED');
  for (const batch of ['other', null]) {
    given(before)
      .when(receive(null, [content()], { batch }))
      .then(received(0, content(), { batch }));
  }
});

it('a batch is remembered for more than a real day, however far the test clock was moved', () => {
  const aheadMs = 30 * 86_400_000;
  const moved = { batch: 'new', at: NOW + aheadMs, aheadMs };
  given([...HERE, earlier(content(), { batch: 'old', at: NOW }), earlier(content(), moved)])
    .when(receive(null, [content()], { batch: 'old' }))
    .refused('EVENTS_ALREADY_RECEIVED');
  given(HERE)
    .when(receive(null, [content()], { batch: 'new', aheadMs }))
    .then(received(0, content(), { batch: 'new', aheadMs }));
  given(HERE)
    .when(receive(null, [content()], { aheadMs }))
    .then(received());
});

it('events of a batch are remembered for more than a day, and not for ever', () => {
  const DAY = 86_400_000;
  const late = (at: number) =>
    fold([
      ...HERE,
      earlier(content(), { batch: 'old', at: NOW }),
      earlier(content(), { batch: 'new', at }),
    ]);
  const again = receive(null, [content()], { batch: 'old' });
  expect(receiveUserEvents(late(NOW + 2 * DAY), again)).toEqual({
    refused: 'EVENTS_ALREADY_RECEIVED',
  });
  expect(receiveUserEvents(late(NOW + 30 * DAY), again)).toHaveProperty('events');
});

it('a reward in another currency than the unit has is not made, and the log gives the reason', () => {
  const inDollars = rule({ terms: terms(credit(5, 'CENTS', 'USD')) });
  given(HERE, rewardGranted('euros', BOB, credit(5, 'CENTS', 'EUR')))
    .when(receive(aProgram({ eventRewards: [inDollars] })))
    .then(
      received(),
      rewardWithheld({
        rewardId: 'received-0 eventRewards/USER/purchase',
        person: BOB.person,
        at: NOW,
        reason: 'CURRENCY_DIFFERS',
        referralId: null,
        rule: 'eventRewards/USER/purchase',
      }),
    );
});

const always = aProgram({ eventRewards: [rule()] });
const sent = (...idRefs: readonly string[]) => ({
  events: idRefs.map((idRef, index) => ({
    userEventId: `received-${index}`,
    idRef,
    content: content(),
  })),
});

it('an id that is repeated is received once more and triggers nothing, within a request and later', () => {
  given(HERE)
    .when(receive(always, [], sent('a', 'a')))
    .then(
      received(0, content(), { idRef: 'a' }),
      fromEvent(0),
      received(1, content(), { idRef: 'a', repeated: true }),
    );
  given(HERE, earlier(content(), { idRef: 'a' }))
    .when(receive(always, [], sent('a', 'b')))
    .then(
      received(0, content(), { idRef: 'a', repeated: true }),
      received(1, content(), { idRef: 'b' }),
      fromEvent(1),
    );
});

it('a repeated id neither converts nor counts as the first time', () => {
  const converting = aProgram({
    conversion: ON_PURCHASE,
  });
  given(referred, earlier(content({ key: 'visit' }), { idRef: 'a' }))
    .when(receive(converting, [], sent('a')))
    .then(received(0, content(), { idRef: 'a', repeated: true }));
  const first = aProgram({ eventRewards: [rule({ firstTimeOnly: true })] });
  given(
    HERE,
    earlier(content({ key: 'visit' }), { idRef: 'a' }),
    earlier(content(), { idRef: 'a', repeated: true }),
  )
    .when(receive(first, [], sent('b')))
    .then(received(0, content(), { idRef: 'b' }), fromEvent(0));
});

it('a reward for the user is earned by every matching event, without a referral too', () => {
  given(HERE)
    .when(
      receive(aProgram({ eventRewards: [rule()] }), [
        content(),
        content({ key: 'visit' }),
        content(),
      ]),
    )
    .then(
      received(0),
      fromEvent(0),
      received(1, content({ key: 'visit' })),
      received(2),
      fromEvent(2),
    );
});

it('a reward for the user is earned in every program of the tenant', () => {
  const [one, two] = [
    aProgram({ eventRewards: [rule()] }),
    aProgram({ id: 'other', version: 7, eventRewards: [rule()] }),
  ];
  given(HERE)
    .when(
      receive(null, [content()], {
        programs: [one, two],
        rewardIdOf: (_event, programId) => `reward of ${programId}`,
      }),
    )
    .then(
      received(),
      fromEvent(0, { rewardId: 'reward of default' }),
      fromEvent(0, { rewardId: 'reward of other', programId: 'other', programVersion: 7 }),
    );
});

it.each([
  [{}, false],
  [{ total: 49.99 }, false],
  [{ total: '60' }, false],
  [{ toString: 60 }, false],
  [{ total: 50 }, true],
  [{ total: 50.01 }, true],
])('a reward for the user that asks for a minimum of 50: %j, %j', (fields, fits) => {
  const program = aProgram({ eventRewards: [rule({ minimum: { field: 'total', value: 50 } })] });
  given(HERE)
    .when(receive(program, [content({ fields })]))
    .then(received(0, content({ fields })), ...(fits ? [fromEvent()] : []));
});

it('a reward for the user for the first time is earned once, also within one call', () => {
  const program = aProgram({ eventRewards: [rule({ firstTimeOnly: true })] });
  given(HERE)
    .when(receive(program, [content(), content()]))
    .then(received(0), fromEvent(0), received(1));
  given(HERE, earlier()).when(receive(program)).then(received());
  // Another user's event is not this user's first.
  const cats = earlier(content(), { person: 'cat' });
  given(HERE, cats).when(receive(program)).then(received(), fromEvent());
});

it('a reward for the user for the first time is earned by the first event that reaches the minimum', () => {
  const program = aProgram({
    eventRewards: [rule({ firstTimeOnly: true, minimum: { field: 'total', value: 50 } })],
  });
  const large = content({ fields: { total: 70 } });
  given(
    HERE,
    earlier(content({ fields: { total: 10, other: 99 } })),
    earlier(content({ key: 'visit', fields: { total: 99 } })),
  )
    .when(receive(program, [large]))
    .then(received(0, large), fromEvent());
  given(
    HERE,
    earlier(content({ fields: { total: 50 } })),
    earlier(content({ fields: { total: 1 } })),
  )
    .when(receive(program, [large]))
    .then(received(0, large));
});

it('a reward for the user has a limit in all and one a day in UTC; what is above it is withheld, and the log says so', () => {
  const MIDNIGHT = Date.UTC(2026, 0, 2);
  const at = (now: number) => ({ context: annStands({ program: null, now }) });
  const limited = (limit: { total: number | null; perDay: number | null }) =>
    aProgram({ eventRewards: [rule({ terms: { ...cents(5), limit } })] });
  const before = (granted: number): AccountEvent =>
    fromEvent(7, { at: granted, rewardId: `granted at ${granted}` });
  const types = (program: Program, now: number, ...history: AccountEvent[]) =>
    given(HERE, history)
      .when(receive(null, [content()], { programs: [program], ...at(now) }))
      .types();
  const [given1, withheld] = [
    ['UserEventReceived', 'RewardGranted'],
    ['UserEventReceived', 'RewardWithheld'],
  ];
  const perDay = limited({ total: null, perDay: 1 });
  expect(types(perDay, MIDNIGHT - 1, before(MIDNIGHT - 5))).toEqual(withheld);
  expect(types(perDay, MIDNIGHT, before(MIDNIGHT - 5))).toEqual(given1);
  const total = limited({ total: 2, perDay: null });
  expect(types(total, MIDNIGHT, before(1))).toEqual(given1);
  expect(types(total, MIDNIGHT, before(1), before(2))).toEqual(withheld);
  // A reward of another rule, or by hand, is not counted.
  expect(types(total, MIDNIGHT, before(1), rewardGranted('manual', BOB, credit(5)))).toEqual(
    given1,
  );
  given(HERE, before(1), before(2))
    .when(receive(total))
    .then(
      received(),
      rewardWithheld({
        at: NOW,
        rewardId: 'received-0 eventRewards/USER/purchase',
        person: BOB.person,
        referralId: null,
        rule: 'eventRewards/USER/purchase',
        reason: 'LIMIT_REACHED',
      }),
    );
});

const numbers = (from: number, count = 500) =>
  Object.fromEntries(Array.from({ length: count }, (_, n) => [`junk-${from + n}`, n]));
const filled = [...HERE, earlier(content({ key: 'other', fields: numbers(0) }))];
const first = rule({ firstTimeOnly: true, minimum: { field: 'total', value: 50 } });
const program = aProgram({ eventRewards: [first] });
const large = content({ fields: { total: 70 } });
const provided = (greatest: Record<string, number> | undefined) => ({
  context: annStands({
    program,
    provided: {
      ...NOTHING_PROVIDED,
      earlierEvents: {
        [BOB.person]: greatest === undefined ? Map() : Map({ purchase: Map(greatest) }),
      },
    },
  }),
});
const recalled = (greatest: number | null) => ({
  recalled: personal(BOB.person, [['total', greatest]]),
});

it('a number that was not kept is read once from the stream for a rule, and kept from then on', () => {
  const conditions = [{ kind: 'earlier-events', person: BOB.person, conditions: [first] }] as const;
  const asked = given(filled).when(receive(program, [large, large]));
  asked.needs(...conditions);
  const never = given(filled).when(receive(program, [large, large], provided(undefined)));
  never.then(received(0, large, recalled(null)), fromEvent(0), received(1, large));
  const small = given(filled).when(receive(program, [large], provided({ total: 49 })));
  small.then(received(0, large, recalled(49)), fromEvent(0));
  const before = given(filled).when(receive(program, [large], provided({ total: 50 })));
  before.then(received(0, large, recalled(50)));
  given(filled, received(7, large, recalled(50)))
    .when(receive(program, [large]))
    .then(received(0, large));
});

it('a look-up covers every rule of a first time that an event of the person may match', () => {
  const once = (name: string, over: Partial<EventReward> = {}): EventReward =>
    rule({ rule: name, firstTimeOnly: true, minimum: { field: name, value: 1 }, ...over });
  const [mine, theirs, other] = [once('mine'), once('theirs', { to: 'REFERRER' }), once('other')];
  const always = rule({ rule: 'always', key: 'visit' });
  const conversion = { key: 'purchase', firstTimeOnly: true, minimum: null } as const;
  const own = aProgram({
    conversion: { on: 'EVENT', ...conversion },
    eventRewards: [mine, theirs, always],
  });
  const second = aProgram({ id: 'second', eventRewards: [other, { ...theirs, rule: 'no' }] });
  const event = content({ fields: { mine: 5 } });
  const ask = (of: readonly AccountEvent[], program: Program) =>
    given(of, earlier(content({ key: 'other', fields: numbers(0) }))).when(
      receive(program, [event], { programs: [program, second] }),
    );
  const need = (...conditions: readonly object[]) => [
    { kind: 'earlier-events', person: BOB.person, conditions },
  ];
  expect(ask(referred, own).decision).toStrictEqual({
    needs: need(mine, other, { on: 'EVENT', ...conversion }, theirs),
  });
  const unconverted = { ...own, conversion: { on: 'PAID' } as const };
  expect(ask(referred, unconverted).decision).toStrictEqual({
    needs: need(mine, other, theirs),
  });
  // This person was not referred.
  expect(ask(HERE, own).decision).toStrictEqual({ needs: need(mine, other) });
});

const converting = aProgram({
  conversion: { ...ON_PURCHASE, minimum: { field: 'total', value: 20 } },
});
const purchase = content({ fields: { total: 20 } });
const converted = referralConverted('referral', ANN, { at: NOW, referrerReward: TEN_DOLLARS });

it('a conversion on an event happens with the referred user’s first matching event, once', () => {
  given(referred)
    .when(receive(converting, [content({ fields: { total: 19 } }), purchase, purchase]))
    .then(
      received(0, content({ fields: { total: 19 } })),
      received(1, purchase),
      converted,
      received(2, purchase),
    );
});

it('a conversion on an event does not happen on another user’s event, or in another program', () => {
  const cats = given(referred, userIdentified(ACME, 'cat')).when(
    receive(converting, [purchase], { userId: 'cat' }),
  );
  expect(cats.types()).toEqual(['UserEventReceived']);
  given(referred)
    .when(receive(aProgram(), [purchase], { programs: [aProgram(), converting] }))
    .then(received(0, purchase));
});

it('a conversion on an event is the only one in its program: PAID does not convert', () => {
  const sync = (of: Program) => syncAccount(PAID, { context: annStands({ program: of }) });
  given(referred).when(sync(converting)).then(subscriptionChanged(PAID, NOW));
  given(referred, subscriptionChanged(PAID))
    .when(receive(converting, [purchase]))
    .then(received(0, purchase), converted);
});

it('a conversion on an event for the first time considers all earlier events of the user', () => {
  const first = aProgram({
    conversion: { on: 'EVENT', key: 'purchase', firstTimeOnly: true, minimum: null },
  });
  given(HERE, earlier(), referred.slice(2)).when(receive(first)).then(received());
});

it('a conversion on an event denies the side of a referrer who was blocked meanwhile', () => {
  given(referred)
    .when(
      receive(converting, [purchase], {
        context: annStands({ program: converting, referrer: BLOCKED }),
      }),
    )
    .then(
      received(0, purchase),
      referralConverted('referral', ANN, {
        at: NOW,
        referrerStatus: 'DENIED',
        referrerReward: TEN_DOLLARS,
      }),
    );
});

const toReferrer = rule({ rule: 'eventRewards/REFERRER/purchase', to: 'REFERRER' });
const rewarding = aProgram({ eventRewards: [toReferrer] });
const earned: AccountEvent = {
  type: 'ReferrerRewardEarnedByEvent',
  at: NOW,
  referralId: 'referral',
  userEventId: 'received-0',
  referrer: ANN,
  programId: 'default',
  programVersion: 1,
  rule: toReferrer.rule,
  terms: toReferrer.terms,
};
const lost = (reason: WithheldReason) =>
  rewardWithheld({
    at: NOW,
    rewardId: 'received-0 eventRewards/REFERRER/purchase',
    referralId: null,
    person: ANN.person,
    rule: toReferrer.rule,
    reason,
  });

it('a reward for the referrer is earned by the referred user’s events, and only where there is a referral of the program', () => {
  given(referred).when(receive(rewarding)).then(received(), earned);
  given(HERE).when(receive(rewarding)).then(received());
  given(referred)
    .when(receive(aProgram(), [content()], { programs: [aProgram(), rewarding] }))
    .then(received());
});

it('a reward for the referrer is lost for events after the refund of the first invoice', () => {
  given(referred, { type: 'ReferralRefunded', at: NOW, referralId: 'referral', referrer: ANN })
    .when(receive(rewarding))
    .then(received(), lost('REFERRAL_REFUNDED'));
});

it('a reward for the referrer is lost unless that side is approved and the referrer exists and is not blocked', () => {
  for (const referrerStatus of ['PENDING', 'DENIED'] as const) {
    given(
      HERE,
      accountAttributed('ANNLEE', ANN),
      referralStarted('referral', BOB, ANN, { referrerStatus }),
    )
      .when(receive(rewarding))
      .then(received(), lost('SIDE_NOT_APPROVED'));
  }
  given(referred)
    .when(
      receive(rewarding, [content()], {
        context: annStands({ program: rewarding, referrer: BLOCKED }),
      }),
    )
    .then(received(), lost('REFERRER_BLOCKED'));
  given(referred)
    .when(
      receive(rewarding, [content()], {
        context: annStands({ program: rewarding, referrer: null }),
      }),
    )
    .then(received(), lost('REFERRER_GONE'));
});
