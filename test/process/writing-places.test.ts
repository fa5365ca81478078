import { WritingPlaces, type WritingPlace } from '../../src/exports/jobs/writing-places.js';

let left: number;
let places: WritingPlaces;
beforeEach(() => {
  left = 0;
  places = new WritingPlaces(2, () => (left += 1));
});

function entered(): WritingPlace {
  const place = places.enter();
  if (!place) throw new Error('there is no place');
  return place;
}

/** Waits aside until the test says so; notes when it has a place again. */
function waiting(place: WritingPlace, back: string[], name: string) {
  let end: () => void = () => undefined;
  const waited = new Promise<void>((resolve) => (end = resolve));
  const returned = place.aside(() => waited).then(() => back.push(name));
  return { end, returned };
}

const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test('there are as many places as may be; one that is left is free, once', () => {
  const first = entered();
  entered();
  expect(places.enter()).toBeUndefined();
  first.end();
  first.end();
  expect([places.hasRoom, left]).toEqual([true, 1]);
  entered();
  expect(places.hasRoom).toBe(false);
});

test('who waits aside leaves its place, and returns before anybody new, in turn', async () => {
  const back: string[] = [];
  const [a, b] = [entered(), entered()];
  const [first, second] = [waiting(a, back, 'a'), waiting(b, back, 'b')];
  const [c, d] = [entered(), entered()];
  expect(places.enter()).toBeUndefined();
  first.end();
  second.end();
  await settle();
  expect(back).toEqual([]);
  c.end();
  expect(places.enter()).toBeUndefined();
  await first.returned;
  expect(back).toEqual(['a']);
  d.end();
  await second.returned;
  expect([back, places.hasRoom]).toEqual([['a', 'b'], false]);
  a.end();
  b.end();
  expect(left).toBe(4);
  entered();
  entered();
  expect(places.hasRoom).toBe(false);
});

test('who ends while it is aside, or waits to return, keeps no place', async () => {
  const back: string[] = [];
  const [a, b] = [entered(), entered()];
  const [first, second] = [waiting(a, back, 'a'), waiting(b, back, 'b')];
  const [c, d] = [entered(), entered()];
  first.end();
  await settle();
  a.end();
  b.end();
  c.end();
  await first.returned;
  expect(places.hasRoom).toBe(true);
  second.end();
  await second.returned;
  d.end();
  expect([entered(), entered()].length).toBe(2);
  expect(places.hasRoom).toBe(false);
});
