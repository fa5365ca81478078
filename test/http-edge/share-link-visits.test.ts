import type { Commands, CountVisitsEnvelope } from '../../src/command-handling/commands.js';
import {
  INTERVAL_MS,
  ShareLinkVisits,
  type Visit,
} from '../../src/http/share-links/share-link-visits.js';
import { enterWorldWith } from '../support/clock-of-process.js';

const MIDNIGHT = Date.UTC(2026, 0, 2);
let now = MIDNIGHT - 1_000;
let timers: { readonly ms: number; readonly call: () => void }[] = [];
let leave: () => void;
beforeEach(() => {
  now = MIDNIGHT - 1_000;
  timers = [];
  let ids = 0;
  leave = enterWorldWith({
    now: () => now,
    elapsed: () => now,
    after: (ms, call) => {
      timers.push({ ms, call });
      return () => (timers = timers.filter((timer) => timer.call !== call));
    },
    uuid: () => `id-${++ids}`,
  });
});
afterEach(() => leave());

const visit = (code = 'ANN', shareMedium = 'EMAIL'): Visit => ({
  scope: { tenant: 'shop', mode: 'live' },
  code,
  link: { person: 'ann', programId: 'default' },
  media: { shareMedium, engagementMedium: 'MOBILE' },
});

function counting(execute: (sent: CountVisitsEnvelope) => Promise<void>) {
  const lines: unknown[] = [];
  const warn = (...line: readonly unknown[]) => void lines.push(line);
  const visits = new ShareLinkVisits({ execute } as unknown as Commands, { warn }, 20);
  return { visits, lines };
}

const figures = (sent: readonly CountVisitsEnvelope[]) =>
  sent.map(({ meta, code, day, counted }) => [
    meta.commandId,
    code,
    day,
    counted.visits.map(({ shareMedium, count }) => `${shareMedium} ${count}`).join(),
  ]);

test('visits of a minute are one command per code and day, and none without visits', async () => {
  const sent: CountVisitsEnvelope[] = [];
  const { visits } = counting(async (envelope) => void sent.push(envelope));
  visits.start();
  expect(timers.map(({ ms }) => ms)).toEqual([INTERVAL_MS]);
  for (const one of [visit(), visit('ann'), visit('ANN', 'SMS'), visit('BOB')]) visits.add(one);
  now = MIDNIGHT;
  visits.add(visit());
  expect(sent).toEqual([]);
  timers.shift()?.call();
  await visits.write();
  expect(figures(sent)).toEqual([
    ['id-1', 'ANN', '2026-01-01', 'EMAIL 2,SMS 1'],
    ['id-2', 'BOB', '2026-01-01', 'EMAIL 1'],
    ['id-3', 'ANN', '2026-01-02', 'EMAIL 1'],
  ]);
  await visits.write();
  expect(sent).toHaveLength(3);
});

test('a sum that failed is sent again unchanged, and the visits since then apart, also at the end', async () => {
  const sent: CountVisitsEnvelope[] = [];
  let isAway = true;
  const { visits, lines } = counting(async (envelope) => {
    sent.push(envelope);
    if (isAway) throw new Error('away');
  });
  visits.start();
  visits.add(visit());
  await visits.write();
  visits.add(visit());
  visits.add(visit());
  isAway = false;
  await visits.stop();
  expect(figures(sent)).toEqual([
    ['id-1', 'ANN', '2026-01-01', 'EMAIL 1'],
    ['id-1', 'ANN', '2026-01-01', 'EMAIL 1'],
    ['id-2', 'ANN', '2026-01-01', 'EMAIL 2'],
  ]);
  expect(lines).toHaveLength(1);
  expect(timers).toEqual([]);
  await visits.stop();
  expect(sent).toHaveLength(3);
});

test('visits in memory are bounded: a full memory is written immediately, a sum that never succeeds is dropped', async () => {
  let isAway = true;
  let asked = 0;
  let begin: () => void = () => undefined;
  const begun = new Promise<void>((resolve) => (begin = resolve));
  const { visits, lines } = counting(() => {
    asked++;
    begin();
    return isAway ? Promise.reject(new Error('away')) : Promise.resolve();
  });
  const add = (from: number, to: number) => {
    for (let n = from; n < to; n++) visits.add(visit(`CODE${n}`));
  };
  add(0, 20);
  await begun;
  add(20, 45);
  await visits.write();
  expect(lines).toContainEqual([{ visits: 5 }, 'visits of share links were not counted']);
  now += 25 * 60 * 60 * 1000;
  await visits.write();
  isAway = false;
  asked = 0;
  visits.add(visit());
  await visits.write();
  expect(asked).toBe(1);
});
