import type { ShownRun } from '../../src/http/operations/operation-runs.js';
import { paceText, timeText } from '../../src/console/view/run-view.js';

const START = '2026-10-01T08:00:00.000Z';
const BEGUN = Date.parse(START);
const RUN: Pick<ShownRun, 'state' | 'progress' | 'startedAt'> = {
  state: 'running',
  startedAt: START,
  progress: { phase: 'replaying', done: 3_000, total: 9_000 },
};

test('a run under way shows its rate, and with a total the time that is left', () => {
  expect(paceText(RUN, BEGUN + 2_000)).toBe('1,500 a second, 4 s left');
  const progress = { phase: 'sealing', done: 5, total: null };
  expect(paceText({ ...RUN, progress }, BEGUN + 10_000)).toBe('0.5 a second');
});

test.each([
  ['that has just begun', RUN, 500],
  ['that has done nothing yet', { ...RUN, progress: { phase: '', done: 0, total: 5 } }, 5_000],
  ['without progress', { ...RUN, progress: null }, 5_000],
  ['that is over', { ...RUN, state: 'done' as const }, 5_000],
])('a run %s shows no rate', (_name, run, ms) => {
  expect(paceText(run, BEGUN + ms)).toBe('');
});

test('a total that was passed leaves no time', () => {
  expect(paceText({ ...RUN, progress: { phase: 'x', done: 20, total: 10 } }, BEGUN + 10_000)).toBe(
    '2.0 a second, 0 s left',
  );
});

test.each([
  [0.2, '1 s'],
  [90, '90 s'],
  [91, '2 min'],
  [5_400, '90 min'],
  [5_401, '1 h 31 min'],
])('%p seconds are %s', (seconds, text) => {
  expect(timeText(seconds)).toBe(text);
});
