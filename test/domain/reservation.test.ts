import {
  decide,
  evolve,
  initialState,
  sameHolder,
  type Holder,
  type ReservationEvent,
  type Reserve,
} from '../../src/domain/reservation/reservation.decider.js';
import { personal } from '../../src/domain/personal.js';
import { NOW } from './support/account-scenario.js';

const ANN: Holder = { account: 'a'.repeat(32), person: 'ann' };
const BOB: Holder = { account: 'b'.repeat(32), person: 'bob' };

const made = (holder: Holder, code = 'LUCKY', at = NOW, programId = 'default'): ReservationEvent => ({
  ...{ type: 'ReservationMade', at, kind: 'referral-code', key: personal(holder.person ?? '', code), holder, programId },
});
const released = (holder: Holder, at = NOW): ReservationEvent => ({ type: 'ReservationReleased', at, holder });
const reserve = (holder: Holder, over: Partial<Reserve> & { code?: string } = {}): Reserve => {
  const { code = 'LUCKY', ...members } = over;
  return {
    ...{
      type: 'Reserve',
      kind: 'referral-code',
      key: personal(holder.person ?? '', code),
      holder,
      programId: 'default',
      takeOver: false,
      now: NOW,
    },
    ...members,
  };
};

const given = (...events: readonly ReservationEvent[]) => ({
  when: (command: Parameters<typeof decide>[1]) => expect(decide(events.reduce(evolve, initialState), command)),
});

it('belongs to who comes first', () => {
  given()
    .when(reserve(ANN))
    .toStrictEqual({ events: [made(ANN)] });
  given(made(ANN, 'LUCKY', 5))
    .when(reserve(BOB))
    .toStrictEqual({ refused: 'RESERVED_BY_ANOTHER' });
});

it('is made once for the same holder; another spelling is the newest one', () => {
  given(made(ANN, 'LUCKY', 5))
    .when(reserve(ANN))
    .toStrictEqual({ events: [] });
  given(made(ANN, 'LUCKY', 5))
    .when(reserve(ANN, { code: 'Lucky' }))
    .toStrictEqual({ events: [made(ANN, 'Lucky')] });
});

it('belongs to one program', () => {
  given(made(ANN, 'LUCKY', 5))
    .when(reserve(ANN, { programId: 'partners' }))
    .toStrictEqual({ refused: 'CODE_PROGRAM_CONFLICT' });
});

it('is free again once its holder released it', () => {
  given(made(ANN, 'LUCKY', 5))
    .when({ type: 'Release', holder: ANN, now: NOW })
    .toStrictEqual({ events: [released(ANN)] });
  given(made(ANN, 'LUCKY', 5), released(ANN, 6))
    .when(reserve(BOB))
    .toStrictEqual({ events: [made(BOB)] });
});

it('is released by nobody else, and not twice', () => {
  given(made(ANN, 'LUCKY', 5))
    .when({ type: 'Release', holder: BOB, now: NOW })
    .toStrictEqual({ events: [] });
  given(made(ANN, 'LUCKY', 5), released(ANN, 6))
    .when({ type: 'Release', holder: ANN, now: NOW })
    .toStrictEqual({ events: [] });
  given().when({ type: 'Release', holder: ANN, now: NOW }).toStrictEqual({ events: [] });
});

describe('one that its holder never confirmed', () => {
  it('may be taken over', () => {
    given(made(ANN, 'LUCKY', 5))
      .when(reserve(BOB, { takeOver: true }))
      .toStrictEqual({ events: [released(ANN), made(BOB)] });
  });

  it('is made anew by its holder, for any program: from now on nobody takes it over', () => {
    given(made(ANN, 'LUCKY', 5))
      .when(reserve(ANN, { takeOver: true }))
      .toStrictEqual({ events: [made(ANN)] });
    given(made(ANN, 'LUCKY', 5))
      .when(reserve(ANN, { takeOver: true, programId: 'partners' }))
      .toStrictEqual({ events: [made(ANN, 'LUCKY', NOW, 'partners')] });
  });
});

it('a holder is an account and a person, or an account as a whole', () => {
  expect(sameHolder(ANN, { ...ANN })).toBe(true);
  expect(sameHolder(ANN, { ...ANN, person: null })).toBe(false);
  expect(sameHolder(ANN, { ...ANN, account: BOB.account })).toBe(false);
});
