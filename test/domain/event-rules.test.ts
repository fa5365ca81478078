import { nameEventRules } from '../../src/domain/tenant/event-rules.js';
import {
  decide,
  evolve,
  type ProgramDocument,
  type TenantEvent,
  type TenantState,
} from '../../src/domain/tenant/tenant.decider.js';
import { upcast } from '../../src/event-log/event-schemas.js';
import { aTenant } from './support/request-scenario.js';

/** Limits are counted by the name of a rule, which stays with the rule. */

type Rule = Readonly<Record<string, unknown>>;
const reward = (discountPercent: number, limit?: number) => ({
  type: 'PCT_DISCOUNT',
  discountPercent,
  ...(limit === undefined ? {} : { limit: { total: limit } }),
});
const visit = (discountPercent: number, more: Rule = {}): Rule => ({
  key: 'visit',
  to: 'USER',
  reward: reward(discountPercent),
  ...more,
});
const from = (value: number) => ({ minimum: { field: 'total', value } });

/** The names of the rules in each of these versions, one applied after the other. */
function named(...versions: readonly (readonly Rule[])[]): readonly (readonly string[])[] {
  let state: TenantState = aTenant();
  return versions.map((eventRewards) => {
    const decision = decide(state, {
      type: 'ApplyProgram',
      program: { id: 'p', eventRewards },
      now: 2,
    });
    const [event] = 'events' in decision ? decision.events : [];
    if (event?.type !== 'ProgramApplied') throw new Error('no version was applied');
    state = evolve(state, event);
    return event.eventRules;
  });
}

const A = 'eventRewards/USER/visit';
const [B, C] = [`${A}/2`, `${A}/3`];

it('the rules of a first version are named after side and kind, and numbered', () => {
  expect(named([visit(1), { ...visit(1), to: 'REFERRER' }, visit(2), visit(1)])).toEqual([
    [A, 'eventRewards/REFERRER/visit', B, C],
  ]);
});

it.each<[string, readonly Rule[], readonly Rule[], readonly string[]]>([
  ['the first is taken out', [visit(1), visit(2)], [visit(2)], [B]],
  ['the second is taken out', [visit(1), visit(2)], [visit(1)], [A]],
  ['they are swapped', [visit(1), visit(2)], [visit(2), visit(1)], [B, A]],
  ['another comes before them', [visit(1), visit(2)], [visit(3), visit(1), visit(2)], [C, A, B]],
  [
    'a reward is changed',
    [visit(1, from(5)), visit(2, from(9))],
    [visit(1, from(5)), visit(7, from(9))],
    [A, B],
  ],
  [
    'the first is taken out, and the reward of the second is changed',
    [visit(1, from(5)), visit(2, from(9))],
    [visit(7, from(9))],
    [B],
  ],
  [
    'a limit is changed',
    [visit(1), visit(2)],
    [{ ...visit(2), reward: reward(2, 5) }, visit(1)],
    [B, A],
  ],
  [
    'a minimum is changed',
    [visit(1, from(5)), visit(2, from(9))],
    [visit(2, from(10)), visit(1, from(5))],
    [B, A],
  ],
  [
    'the first is taken out, and the minimum of the second is changed',
    [visit(1, from(5)), visit(2, from(9))],
    [visit(2, from(10))],
    [B],
  ],
  [
    'the only one is changed in everything',
    [visit(1, from(5))],
    [visit(2, { firstTimeOnly: true })],
    [A],
  ],
  [
    'one of two is changed in everything, and the other taken out',
    [visit(1, from(5)), visit(2, from(9))],
    [visit(3, from(1))],
    [C],
  ],
  [
    'one of two is changed in everything',
    [visit(1, from(5)), visit(2, from(9))],
    [visit(3, from(1)), visit(2, from(9))],
    [A, B],
  ],
  [
    'it pays the other side',
    [visit(1)],
    [{ ...visit(1), to: 'REFERRER' }],
    ['eventRewards/REFERRER/visit'],
  ],
])('%s', (_what, before, after, names) => {
  expect(named(before, after)[1]).toEqual(names);
});

it('a rule that returns unchanged is the same, one that returns changed is new, and no name is used twice', () => {
  expect(named([visit(1), visit(2)], [visit(2)], [visit(1), visit(2)])).toEqual([
    [A, B],
    [B],
    [A, B],
  ]);
  expect(named([visit(1)], [], [visit(1)])).toEqual([[A], [], [A]]);
  expect(named([visit(1)], [], [visit(2)], [visit(1)])).toEqual([[A], [], [B], [B]]);
  expect(named([visit(1), visit(2)], [visit(2)], [visit(3), visit(2)])).toEqual([
    [A, B],
    [B],
    [C, B],
  ]);
});

it('a rule stays the same when codes are added to its pool', () => {
  const tank = (...fuelTankCodes: readonly string[]) =>
    visit(1, { reward: { type: 'FUELTANK', amount: 5, fuelTankCodes } });
  expect(named([tank('A'), tank('B')], [tank('B', 'C')])).toEqual([[A, B], [A]]);
  const other = visit(1, { reward: { type: 'FUELTANK', amount: 6, fuelTankCodes: ['A'] } });
  expect(
    named(
      [tank('A'), other],
      [{ ...other, reward: { type: 'FUELTANK', amount: 6, fuelTankCodes: ['A', 'D'] } }],
    ),
  ).toEqual([[A, B], [B]]);
});

it('rules from before rules had names keep their numbers', () => {
  const document: ProgramDocument = {
    id: 'p',
    eventRewards: [visit(1), { ...visit(1), to: 'REFERRER' }, visit(2)],
  };
  const stored = upcast('ProgramApplied', 1, { version: 1, isDefault: true, document });
  expect(stored).toEqual({
    version: 1,
    isDefault: true,
    document,
    eventRules: [A, 'eventRewards/REFERRER/visit', B],
  });
  const state = evolve(aTenant(), { type: 'ProgramApplied', at: 1, ...stored } as TenantEvent);
  const program = state.status === 'open' ? state.programs['p'] : undefined;
  expect(nameEventRules({ id: 'p', eventRewards: [visit(2)] }, program)).toEqual([B]);
});

it('the same file again changes no name, also when it becomes the default', () => {
  let state: TenantState = aTenant();
  const program = { id: 'p', eventRewards: [visit(1), visit(2)] };
  for (const document of [program, { ...program, eventRewards: [visit(2)] }]) {
    const decision = decide(state, { type: 'ApplyProgram', program: document, now: 2 });
    state = ('events' in decision ? decision.events : []).reduce(evolve, state);
  }
  expect(
    decide(state, { type: 'ApplyProgram', program: { id: 'p', eventRewards: [visit(2)] }, now: 3 }),
  ).toEqual({ events: [] });
});
