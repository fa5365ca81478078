import type { HeadRefusal } from '../../src/http/edge/head-refusals.js';
import { PacedRefusals, type Roomless } from '../../src/http/edge/paced-refusals.js';
import { RefusalLines } from '../../src/http/edge/refusal-lines.js';
import { elapsed } from '../../src/foundation/world.js';
import { clockOfEachTest } from '../process/support/clock.js';

const clock = clockOfEachTest();

/** A full house, where a refusal takes a millisecond. */
class House {
  room = 0;
  /** A request whose party has room. */
  withRoom: number | undefined;
  refusalMs = 1;
  isPipelined = false;
  readonly refused: number[] = [];
  readonly takenUp: number[] = [];
  readonly dropped: number[] = [];
  readonly left = new Set<number>();
  readonly paced = new PacedRefusals(() => this.room);

  ask(first: number, last = first): void {
    for (let n = first; n <= last; n++) this.paced.take(this.request(n));
  }

  private request(n: number): Roomless {
    return {
      beganAt: elapsed(),
      isOver: () => this.left.has(n),
      hasRoom: () => n === this.withRoom,
      isPipelined: () => this.isPipelined,
      takeUp: () => void this.takenUp.push(n),
      refuse: () => {
        this.refused.push(n);
        clock().forward(this.refusalMs);
      },
      drop: () => void this.dropped.push(n),
    };
  }
}

const upTo = (last: number): readonly number[] => Array.from({ length: last }, (_, n) => n + 1);

test('a burst is refused at once, and what follows within a sixth of the time, in order', () => {
  const house = new House();
  house.ask(1, 100);
  const atOnce = house.refused.length;
  expect(atOnce).toBe(5);
  expect(house.paced.waiting).toBe(100 - atOnce);
  clock().forward(120);
  expect(house.refused).toEqual(upTo(house.refused.length));
  expect(house.refused.length - atOnce).toBeGreaterThanOrEqual(16);
  expect(house.refused.length - atOnce).toBeLessThanOrEqual(20);
  clock().forward(1_000);
  expect(house.refused).toEqual(upTo(100));
  expect(clock().waiting).toBe(0);
});

test('after a pause there is time for no more than a burst', () => {
  const house = new House();
  house.ask(1, 20);
  clock().forward(60_000);
  const before = house.refused.length;
  expect(before).toBe(20);
  house.ask(21, 60);
  expect(house.refused.length - before).toBe(5);
});

test('what is held is taken up as far as there is room again, the oldest first', () => {
  const house = new House();
  house.ask(1, 30);
  const atOnce = house.refused.length;
  house.room = 3;
  clock().forward(5);
  expect(house.takenUp).toEqual([atOnce + 1, atOnce + 2, atOnce + 3]);
});

test('a client that has left takes no time of others', () => {
  const house = new House();
  house.ask(1, 30);
  const atOnce = house.refused.length;
  for (let n = atOnce + 1; n < 30; n++) house.left.add(n);
  clock().forward(60);
  expect(house.refused).toEqual([...upTo(atOnce), 30]);
  expect(house.paced.waiting).toBe(0);
});

test('one of a party that has room is taken up in a full house', () => {
  const house = new House();
  house.ask(1, 30);
  const atOnce = house.refused.length;
  house.withRoom = atOnce + 1;
  clock().forward(5);
  expect(house.takenUp).toEqual([atOnce + 1]);
});

test('with 2048 held the oldest is refused for the next, and a pipelined one loses its connection', () => {
  const house = new House();
  house.refusalMs = 100;
  house.ask(1);
  house.ask(2, 2_049);
  // The first one took all the time there was.
  expect([house.refused, house.paced.waiting]).toEqual([[1], 2_048]);
  house.isPipelined = true;
  house.ask(3_000, 3_100);
  expect(house.dropped).toHaveLength(101);
  expect(house.refused).toEqual([1]);
  house.isPipelined = false;
  house.left.add(2);
  house.refusalMs = 0;
  house.ask(4_000);
  expect([house.refused, house.paced.waiting]).toEqual([[1, 3], 2_047]);
});

test('a refusal that took long delays the next ones by thirty milliseconds at most', () => {
  const house = new House();
  house.refusalMs = 10_000;
  house.ask(1);
  house.refusalMs = 0;
  house.ask(2);
  expect(house.refused).toEqual([1]);
  clock().forward(35);
  expect(house.refused).toEqual([1, 2]);
});

test('none is held for longer than a second', () => {
  const house = new House();
  house.refusalMs = 20;
  house.ask(1, 100);
  clock().forward(1_005);
  expect(house.refused).toEqual(upTo(100));
});

test('at the shutdown all that are held are refused, but those who have left', () => {
  const house = new House();
  house.ask(1, 30);
  house.left.add(30);
  house.paced.refuseAll();
  expect(house.refused).toEqual(upTo(29));
  expect(house.takenUp).toEqual([]);
  clock().forward(1_000);
  expect(house.refused).toEqual(upTo(29));
});

test('fifty refusals of a second have a line each, the others one together', () => {
  const logged: { readonly line: unknown; readonly text: string }[] = [];
  const logger = { info: (line: unknown, text: string) => logged.push({ line, text }) };
  const lines = new RefusalLines({ logger, addresses: 'short' });
  const refusal: HeadRefusal = {
    requestId: 'r',
    traceId: undefined,
    method: 'GET',
    route: '/x',
    address: '192.0.2.1',
    seconds: 0,
  };
  const refuse = (times: number): void => {
    for (let n = 0; n < times; n++) lines.add(refusal);
  };
  refuse(50);
  clock().forward(1_000);
  expect(logged.map(({ text }) => text)).toEqual(Array(50).fill('request'));
  refuse(53);
  expect(logged).toHaveLength(100);
  clock().forward(1_000);
  expect(logged.at(-1)).toEqual({
    line: { status: 503, code: 'UNAVAILABLE', requests: 3 },
    text: 'requests refused',
  });
  refuse(52);
  lines.endSecond();
  expect(logged.at(-1)?.line).toMatchObject({ requests: 2 });
  expect(clock().waiting).toBe(0);
});
