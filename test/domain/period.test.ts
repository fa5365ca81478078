import { personal } from '../../src/domain/personal.js';
import {
  decide,
  evolve,
  initialState,
  type ChangePeriod,
  type PeriodEvent,
} from '../../src/domain/period/period.decider.js';

const END = Date.UTC(2026, 10) - 1;
const said = {
  period: '2026-10',
  comment: personal('sam', 'tied out'),
  by: personal('sam', 'Sam'),
};
const change = (type: ChangePeriod['type'], now = END + 1): ChangePeriod => ({
  type,
  ...said,
  endsAt: END,
  now,
});
const after = (...events: readonly PeriodEvent[]) => events.reduce(evolve, initialState);
const closed: PeriodEvent = { type: 'PeriodClosed', at: END + 1, ...said };
const reopened: PeriodEvent = { type: 'PeriodReopened', at: END + 1, ...said };

test('a period is closed once, after its last moment', () => {
  expect(decide(after(), change('ClosePeriod'))).toEqual({ events: [closed] });
  expect(decide(after(), change('ClosePeriod', END))).toEqual({ refused: 'PERIOD_NOT_OVER' });
  expect(decide(after(closed), change('ClosePeriod'))).toEqual({
    refused: 'PERIOD_ALREADY_CLOSED',
  });
  expect(decide(after(closed, reopened), change('ClosePeriod'))).toEqual({ events: [closed] });
});

test('only a closed period is reopened', () => {
  expect(decide(after(closed), change('ReopenPeriod'))).toEqual({ events: [reopened] });
  expect(decide(after(), change('ReopenPeriod'))).toEqual({ refused: 'PERIOD_NOT_CLOSED' });
  expect(decide(after(closed, reopened), change('ReopenPeriod'))).toEqual({
    refused: 'PERIOD_NOT_CLOSED',
  });
});
