import { Map, OrderedMap } from 'immutable';
import {
  hasMatched,
  hasMatchedBefore,
  hasId,
  NAMES_BYTES_MAX,
  rememberEvent,
  addNumbers,
  rememberBatch,
  type NamedNumbers,
} from '../../src/domain/account/users/events-seen.js';
import { personal } from '../../src/domain/personal.js';
import type { EventCondition } from '../../src/domain/program.js';
import { DAY_MS } from './support/account-scenario.js';

type Received = Parameters<typeof rememberEvent>[1];
type Content = NonNullable<Received['content']['value']>;
const event = (key: string, fields: Content['fields'] = {}): Content => ({
  id: 'event',
  key,
  fields,
  dateTriggered: 1,
});
const NONE_SEEN: Parameters<typeof rememberEvent>[0] = Map();
const ofBob = (value: Content | null, over: Partial<Received> = {}): Received => ({
  person: 'bob',
  content: value === null ? { subject: 'bob', value } : personal('bob', value),
  ...over,
});
const seen = (...events: readonly Content[]) =>
  events.reduce((all, one) => rememberEvent(all, ofBob(one)), NONE_SEEN);
const condition = (key: string, field?: string, value = 0): EventCondition => ({
  key,
  firstTimeOnly: false,
  minimum: field === undefined ? null : { field, value },
});
const plain = (numbers: NamedNumbers | undefined) => numbers?.toJS();

it('the greatest number of each field of each key is kept', () => {
  const of = seen(
    event('buy', { amount: 5, items: 9 }),
    event('buy', { amount: 7, items: 2, note: 'x' }),
    event('visit'),
  ).get('bob');
  expect(plain(of?.greatest)).toEqual({ buy: { amount: 7, items: 9 }, visit: {} });
  expect(hasMatchedBefore(condition('buy', 'amount', 7), of)).toBe(true);
  expect(hasMatchedBefore(condition('buy', 'amount', 8), of)).toBe(false);
  expect(hasMatchedBefore(condition('buy', 'other', 0), of)).toBe(false);
  expect(hasMatchedBefore(condition('visit'), of)).toBe(true);
  expect(hasMatchedBefore(condition('sell'), of)).toBe(false);
  expect(hasMatchedBefore(condition('sell'))).toBe(false);
});

it('an event whose content is erased leaves no number', () => {
  const before = seen(event('buy'));
  expect(rememberEvent(before, ofBob(null))).toBe(before);
});

it('names of fields are kept up to their bytes: a name beyond them is not known', () => {
  const long = (letter: string, bytes: number) => letter.repeat((bytes - 64) / 2);
  const first = event(long('a', NAMES_BYTES_MAX - 128));
  const exactly = seen(first, event(long('b', 128))).get('bob');
  expect([exactly?.isComplete, exactly?.bytes]).toEqual([true, NAMES_BYTES_MAX]);
  const more = seen(first, event(long('b', 130))).get('bob');
  expect(more?.isComplete).toBe(false);
  expect(hasMatchedBefore(condition(long('b', 130)), more)).toBeUndefined();
  expect(hasMatchedBefore(condition(first.key), more)).toBe(true);
  // A shorter name does not come in behind one that was left out.
  const later = seen(first, event(long('b', 130)), event('c')).get('bob');
  expect(hasMatchedBefore(condition('c'), later)).toBeUndefined();
  // The kept names stay.
  const field = seen(
    event('buy', { amount: 1 }),
    first,
    event(long('b', 130)),
    event('buy', { amount: 9, more: 1 }),
  );
  expect(plain(field.get('bob')?.greatest.filter((_, key) => key === 'buy'))).toEqual({
    buy: { amount: 9 },
  });
});

it('the result of a look-up for a rule is kept', () => {
  const before = seen(event('buy', { amount: 5 }));
  const recalled = rememberEvent(
    before,
    ofBob(event('buy', { amount: 2 }), {
      recalled: personal('bob', [
        ['amount', 3],
        ['items', 4],
        ['price', null],
      ]),
    }),
  );
  expect(plain(recalled.get('bob')?.greatest)).toEqual({
    buy: { amount: 5, items: 4, price: -Infinity },
  });
});

const withIds = (...idRefs: readonly string[]) =>
  idRefs
    .reduce((all, idRef) => rememberEvent(all, ofBob(event('visit'), { idRef })), NONE_SEEN)
    .get('bob');
const ids = (first: number, count: number) =>
  Array.from({ length: count }, (_, n) => `id-${first + n}`);

it('the last 1,000 ids of events at least are known, and twice as many at most', () => {
  const of = withIds(...ids(0, 3_500));
  expect(ids(2_500, 1_000).every((id) => hasId(of, id))).toBe(true);
  expect(ids(0, 3_500).filter((id) => hasId(of, id)).length).toBeLessThanOrEqual(2_000);
});

it('a repeated event leaves the numbers of the first one', () => {
  const before = seen(event('buy', { amount: 5 }));
  const again = ofBob(event('buy', { amount: 9 }), { idRef: 'id', repeated: true });
  expect(plain(rememberEvent(before, again).get('bob')?.greatest)).toEqual({ buy: { amount: 5 } });
});

const NONE: NamedNumbers = Map();
const CONDITIONS = [condition('buy', 'amount'), condition('buy', 'items'), condition('visit')];
const noted = (...events: readonly Content[]) =>
  events.reduce((numbers, one) => addNumbers(numbers, one, CONDITIONS), NONE);

it('only the greatest of the numbers that conditions name are kept', () => {
  expect(
    plain(
      noted(
        event('buy', { amount: 5, price: 9 }),
        event('buy', { amount: 3, items: 2 }),
        event('buy', { amount: 'many' }),
        event('visit', { amount: 8 }),
      ),
    ),
  ).toEqual({ buy: { amount: 5, items: 2 }, visit: {} });
});

it('an event that no condition names changes nothing', () => {
  expect(noted(event('sell', { amount: 5 }))).toBe(NONE);
  expect(plain(noted(event('buy', Object.create({ amount: 5 }) as Content['fields'])))).toEqual({
    buy: {},
  });
});

it('a condition matches from its minimum on', () => {
  const numbers = noted(event('buy', { amount: 5 }), event('buy', { amount: -3 }));
  expect(hasMatched(condition('buy'), numbers)).toBe(true);
  expect(hasMatched(condition('visit'), numbers)).toBe(false);
  expect(hasMatched(condition('buy', 'amount', 5), numbers)).toBe(true);
  expect(hasMatched(condition('buy', 'amount', 6), numbers)).toBe(false);
  expect(hasMatched(condition('buy', 'items', -9e9), numbers)).toBe(false);
});

it('keys of batches are remembered for seven days, and the oldest go first', () => {
  const first = rememberBatch(OrderedMap(), 'one', 1);
  const second = rememberBatch(first, 'two', 2);
  expect([...rememberBatch(second, 'three', 7 * DAY_MS).keys()]).toEqual(['one', 'two', 'three']);
  expect([...rememberBatch(second, 'three', 7 * DAY_MS + 1).keys()]).toEqual(['two', 'three']);
  expect([...rememberBatch(second, 'three', 7 * DAY_MS + 2).keys()]).toEqual(['three']);
});
