import {
  decide,
  evolve,
  initialState,
  sameHolder,
  type Holder,
  type ReservationEvent,
  type ReservationCommand,
} from '../../src/domain/reservation/reservation.decider.js';
import { personal } from '../../src/domain/personal.js';
import { NOW } from './support/account-scenario.js';
import { scenarioOf } from './support/scenario.js';

const ANN: Holder = { account: 'a'.repeat(32), person: 'ann' };
const BOB: Holder = { account: 'b'.repeat(32), person: 'bob' };

const made = (
  holder: Holder,
  over: { code?: string; at?: number; programId?: string; claim?: string | null } = {},
): ReservationEvent => {
  const { code = 'LUCKY', at = NOW, programId = 'default', claim = 'new' } = over;
  return {
    type: 'ReservationMade',
    at,
    kind: 'referral-code',
    key: personal(holder.person ?? '', code),
    holder,
    programId,
    claim,
  };
};
const released = (holder: Holder, claim: string | null, at = NOW): ReservationEvent => ({
  type: 'ReservationReleased',
  at,
  holder,
  claim,
});
type Reserve = Extract<ReservationCommand, { type: 'Reserve' }>;
const reserve = (holder: Holder, over: Partial<Reserve> & { code?: string } = {}): Reserve => {
  const { code = 'LUCKY', ...members } = over;
  return {
    type: 'Reserve',
    kind: 'referral-code',
    key: personal(holder.person ?? '', code),
    holder,
    programId: 'default',
    claim: 'new',
    takeOver: false,
    now: NOW,
    ...members,
  };
};
const release = (claim: string) => ({ type: 'Release', claim, now: NOW }) as const;

const given = scenarioOf({ decide, evolve, initialState });
const ANNS = made(ANN, { at: 5, claim: 'first' });

it('a reserved code belongs to the first claimant', () => {
  given().when(reserve(ANN)).then(made(ANN));
  given(ANNS).when(reserve(BOB)).refused('RESERVED_BY_ANOTHER');
});

it('a reserved code gets a claim of each command of its holder, and shows the newest spelling', () => {
  given(ANNS).when(reserve(ANN)).then(made(ANN));
  given(ANNS)
    .when(reserve(ANN, { claim: 'first' }))
    .then();
  given(ANNS)
    .when(reserve(ANN, { code: 'Lucky' }))
    .then(made(ANN, { code: 'Lucky' }));
});

it('a reserved code belongs to one program', () => {
  given(ANNS)
    .when(reserve(ANN, { programId: 'partners' }))
    .refused('CODE_PROGRAM_CONFLICT');
});

it('a reserved code is free again once its only claim is released', () => {
  given(ANNS).when(release('first')).then(released(ANN, 'first'));
  given(ANNS, released(ANN, 'first', 6))
    .when(reserve(BOB))
    .then(made(BOB));
});

it('a reserved code stays reserved while another command of its holder has a claim', () => {
  for (const [gone, left] of [
    ['first', 'second'],
    ['second', 'first'],
  ] as const) {
    const shared = [ANNS, made(ANN, { at: 6, claim: 'second' }), released(ANN, gone, 7)];
    given(shared).when(reserve(BOB)).refused('RESERVED_BY_ANOTHER');
    given(shared).when(release(left)).then(released(ANN, left));
    given(shared, released(ANN, left, 8))
      .when(reserve(BOB))
      .then(made(BOB));
  }
});

it('a reserved code is released by its holder only, and not twice', () => {
  given(ANNS).when(release('new')).then();
  given(ANNS, released(ANN, 'first', 6))
    .when(release('first'))
    .then();
  given(ANNS, released(ANN, null, 6), made(BOB, { claim: 'his' }))
    .when(release('first'))
    .then();
  given().when(release('first')).then();
});

it('a reserved code from before there were claims is released as a whole, by commands of that release only', () => {
  const old = made(ANN, { at: 5, claim: null });
  given(old, made(ANN, { at: 6, claim: 'second' }), released(ANN, 'second', 7))
    .when(reserve(BOB))
    .refused('RESERVED_BY_ANOTHER');
  given(old, made(ANN, { at: 6, claim: 'second' }), released(ANN, null, 7))
    .when(reserve(BOB))
    .then(made(BOB));
});

it('a reserved code with more claims than are remembered is not freed by releases', () => {
  const claims = Array.from({ length: 20 }, (_, index) => `claim ${index}`);
  given(
    claims.map((claim) => made(ANN, { claim })),
    claims.map((claim) => released(ANN, claim)),
  )
    .when(reserve(BOB))
    .refused('RESERVED_BY_ANOTHER');
});

it('a reserved code that its holder never recorded may be taken over, with all claims on it', () => {
  given(ANNS, made(ANN, { claim: 'second' }))
    .when(reserve(BOB, { takeOver: true }))
    .then(released(ANN, null), made(BOB));
});

it('a reserved code that its holder never recorded is reserved again by its holder, for any program', () => {
  given(ANNS)
    .when(reserve(ANN, { takeOver: true, programId: 'partners' }))
    .then(released(ANN, null), made(ANN, { programId: 'partners' }));
});

it('a holder is an account and a person, or an account as a whole', () => {
  expect(sameHolder(ANN, { ...ANN })).toBe(true);
  expect(sameHolder(ANN, { ...ANN, person: null })).toBe(false);
  expect(sameHolder(ANN, { ...ANN, account: BOB.account })).toBe(false);
});
