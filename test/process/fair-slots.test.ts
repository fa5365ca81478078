import { FairSlots, type SlotLimits, type Turn } from '../../src/foundation/fair-slots.js';
import { enterWorld } from '../../src/foundation/world.js';
import { Clock } from './support/clock.js';

const LIMITS: SlotLimits = {
  slots: 3,
  perGroupMax: 1,
  aloneMax: 2,
  pastMs: 0,
  waitingMax: 100,
};

/** Parties by the order in which they were given a slot. */
class Slots {
  readonly begun: string[] = [];
  readonly refused: string[] = [];
  private readonly slots: FairSlots;
  private readonly turns = new Map<string, Turn>();

  constructor(limits: Partial<SlotLimits> = {}) {
    this.slots = new FairSlots({ ...LIMITS, ...limits });
  }

  /** @param names `group/member/number`. */
  async enter(...names: readonly string[]): Promise<void> {
    for (const name of names) {
      const [group = '', member = ''] = name.split('/');
      const turn = this.slots.enter({ group, member, isPassing: member === 'passing' });
      this.turns.set(name, turn);
      void turn.begun.then((has) => (has ? this.begun : this.refused).push(name));
    }
    await settled();
  }

  async end(...names: readonly string[]): Promise<void> {
    for (const name of names) this.turn(name).end();
    await settled();
  }

  turn(name: string): Turn {
    const turn = this.turns.get(name);
    if (turn === undefined) throw new Error(`${name} has not entered`);
    return turn;
  }
}

async function settled(): Promise<void> {
  for (let n = 0; n < 5; n++) await Promise.resolve();
}

test('a group alone leaves slots to newcomers, which begin at once', async () => {
  const slots = new Slots();
  await slots.enter('a/x/1', 'a/x/2', 'a/x/3');
  expect(slots.begun).toEqual(['a/x/1', 'a/x/2']);
  await slots.enter('b/y/1');
  expect(slots.begun).toEqual(['a/x/1', 'a/x/2', 'b/y/1']);
});

test('while others are there a group has no more than its part, even if slots are free', async () => {
  const slots = new Slots();
  await slots.enter('b/y/1', 'a/x/1', 'a/x/2');
  expect(slots.begun).toEqual(['b/y/1', 'a/x/1']);
  await slots.end('a/x/1');
  expect(slots.begun).toEqual(['b/y/1', 'a/x/1', 'a/x/2']);
  await slots.enter('a/x/3');
  expect(slots.begun).toHaveLength(3);
  await slots.end('b/y/1');
  expect(slots.begun.at(-1)).toBe('a/x/3');
});

describe('what was a moment ago', () => {
  let now = 1_000;
  let rests: { readonly ms: number; readonly end: () => void }[];
  let leave: () => void;
  beforeEach(() => {
    rests = [];
    leave = enterWorld({
      now: () => now,
      elapsed: () => now,
      after: (ms, end) => {
        rests.push({ ms, end });
        return () => undefined;
      },
      uuid: () => '',
      bytes: (length) => Buffer.alloc(length),
      below: () => 0,
    });
  });
  afterEach(() => leave());

  test('a group that had a turn is there, as those that have one', async () => {
    const slots = new Slots({ pastMs: 250 });
    await slots.enter('b/y/1');
    await slots.end('b/y/1');
    await slots.enter('a/x/1', 'a/x/2', 'a/x/3', 'a/x/4');
    expect(slots.begun.slice(1)).toEqual(['a/x/1']);
    now += 250;
    await slots.end('a/x/1');
    expect(slots.begun.slice(1)).toEqual(['a/x/1', 'a/x/2']);
    now += 1;
    await slots.enter('a/x/5');
    expect(slots.begun.slice(1)).toEqual(['a/x/1', 'a/x/2', 'a/x/3']);
  });

  test('a group in whose name anybody asked is not there after that', async () => {
    const slots = new Slots({ pastMs: 250 });
    await slots.enter('b/passing/1');
    await slots.end('b/passing/1');
    await slots.enter('a/x/1', 'a/x/2', 'a/x/3');
    expect(slots.begun.slice(1)).toEqual(['a/x/1', 'a/x/2']);
    await slots.enter('c/y/1');
    await slots.end('c/y/1', 'a/x/1');
    now += 251;
    await slots.enter('c/passing/1');
    await slots.end('c/passing/1', 'a/x/2');
    // Its turn of its own is longer ago.
    await slots.enter('a/x/4');
    expect(slots.begun.filter((name) => name.startsWith('a'))).toHaveLength(4);
  });

  test('a group that held more than an equal share has no more than that, until it held less', async () => {
    const slots = new Slots({ slots: 12, perGroupMax: 4, aloneMax: 9, pastMs: 250 });
    for (let n = 0; n < 6; n++) await slots.enter(`quiet-${n}/x/1`);
    for (let n = 0; n < 12; n++) await slots.enter(`loud/x/${n}`);
    const ofLoud = (): number => slots.begun.filter((name) => name.startsWith('loud')).length;
    // A burst has its part at once.
    expect(ofLoud()).toBe(4);
    now += 1_000;
    await slots.end('loud/x/0', 'loud/x/1', 'loud/x/2');
    expect(ofLoud()).toBe(4);
    await slots.end('loud/x/3');
    expect(ofLoud()).toBe(5);
    now += 1_000;
    await slots.enter('loud/x/12');
    expect(ofLoud()).toBe(8);
  });

  test('among a few, the part of a group is not smaller than its third', async () => {
    const slots = new Slots({ slots: 12, perGroupMax: 4, aloneMax: 9, pastMs: 250 });
    await slots.enter('quiet/x/1');
    for (let n = 0; n < 6; n++) await slots.enter(`loud/x/${n}`);
    now += 1_000;
    await slots.end('loud/x/0');
    expect(slots.begun).toHaveLength(6);
  });

  describe('a group that is alone, and ends three turns a millisecond', () => {
    const limits = {
      slots: 12,
      perGroupMax: 4,
      aloneMax: 9,
      quickMax: 20,
      pastMs: 250,
      waitingMax: 30,
    };
    let entered: number;

    /** Enough wait at any time. */
    async function quick(more: Partial<SlotLimits> = {}): Promise<Slots> {
      const slots = new Slots({ ...limits, ...more });
      entered = 0;
      const enter = (count: number): Promise<void> =>
        slots.enter(...Array.from({ length: count }, () => `a/x/${entered++}`));
      await enter(33);
      for (let ended = 0; ended < 3_000; ended += 3) {
        now += 1;
        await slots.end(...[0, 1, 2].map((n) => `a/x/${ended + n}`));
        await enter(3);
      }
      return slots;
    }
    const atWork = ({ begun }: Slots): number => begun.length - 3_000;

    test('has as many slots as it ends in 10 ms, and no more than may be', async () => {
      expect(atWork(await quick({ quickMax: 40 }))).toBe(30);
      expect(atWork(await quick())).toBe(20);
      expect(atWork(await quick({ quickMax: 9 }))).toBe(9);
    });

    test('leaves newcomers theirs, and has none until it has no more than its part', async () => {
      const slots = await quick();
      await slots.enter('b/y/1', 'b/y/2', 'b/y/3', 'b/y/4', 'c/z/1');
      expect(slots.begun.slice(3_020)).toEqual(['b/y/1', 'b/y/2', 'b/y/3']);
      for (let n = 3_000; n < 3_016; n++) await slots.end(`a/x/${n}`);
      expect(slots.begun.slice(3_023)).toEqual(['c/z/1', 'b/y/4']);
    });

    test('has no more than before once its turns take long', async () => {
      const slots = await quick();
      now += 500;
      for (let n = 3_000; n < 3_011; n++) await slots.end(`a/x/${n}`);
      expect(atWork(slots)).toBe(20);
      await slots.end('a/x/3011');
      expect(atWork(slots)).toBe(21);
    });

    test('has with those that wait no more than before', async () => {
      const slots = await quick();
      for (let n = 0; n < 20; n++) await slots.enter(`a/x/${entered++}`);
      // 39 are at work or wait, of 53: nine and thirty without the slots beside.
      expect(slots.refused).toHaveLength(14);
    });
  });

  /** `loud` has had four turns for 100 ms, and four more of its parties wait. */
  async function busy(limits: Partial<SlotLimits>, quiet: readonly string[]): Promise<Slots> {
    const slots = new Slots({ slots: 12, perGroupMax: 4, aloneMax: 9, pastMs: 250, ...limits });
    await slots.enter(...quiet);
    for (let n = 0; n < 8; n++) await slots.enter(`loud/x/${n}`);
    now += 100;
    ageing = rests.splice(0);
    return slots;
  }
  /** Timers of turns that become old. */
  let ageing: typeof rests;
  const endRests = async (): Promise<void> => {
    for (const { end } of rests.splice(0)) end();
    await settled();
  };

  test('a group with most of a busy service has one slot at a time, and rests between', async () => {
    const slots = await busy({ restFrom: 0.5 }, ['quiet/x/1']);
    await slots.end('loud/x/0', 'loud/x/1', 'loud/x/2', 'loud/x/3');
    expect(rests.map(({ ms }) => ms)).toEqual([100, 100, 100, 100]);
    expect(slots.begun).toHaveLength(5);
    await slots.enter('quiet/x/2');
    expect(slots.begun.at(-1)).toBe('quiet/x/2');
    await slots.end('quiet/x/2');
    await endRests();
    expect(slots.begun.slice(6)).toEqual(['loud/x/4']);
    now += 30;
    await slots.end('loud/x/4');
    expect(rests.map(({ ms }) => ms)).toEqual([30]);
    await endRests();
    expect(slots.begun.slice(7)).toEqual(['loud/x/5']);
  });

  test('a turn that takes long does not count: another of its group begins beside it', async () => {
    const slots = await busy({ restFrom: 0.5 }, ['quiet/x/1']);
    await slots.end('quiet/x/1', 'loud/x/0', 'loud/x/1', 'loud/x/2');
    await endRests();
    expect(slots.begun).toHaveLength(5);
    expect(ageing.map(({ ms }) => ms)).toEqual([250]);
    now += 150;
    for (const { end } of ageing) end();
    await settled();
    expect(slots.begun.slice(5)).toEqual(['loud/x/4']);
  });

  describe('a member with most of the work of its group', () => {
    /** `loud` has had eight turns for 100 ms, and four more of its parties wait. */
    async function busyGroup(): Promise<Slots> {
      const slots = new Slots({
        slots: 12,
        perGroupMax: 4,
        aloneMax: 9,
        pastMs: 250,
        restFrom: 0.5,
      });
      await slots.enter('a/quiet/1');
      for (let n = 0; n < 12; n++) await slots.enter(`a/loud/${n}`);
      now += 100;
      ageing = rests.splice(0);
      return slots;
    }
    const endLoud = (slots: Slots, count: number): Promise<void> =>
      slots.end(...Array.from({ length: count }, (_, n) => `a/loud/${n}`));

    test('has one slot at a time, and rests between, while another member is there', async () => {
      const slots = await busyGroup();
      await endLoud(slots, 8);
      expect(rests.map(({ ms }) => ms)).toEqual(new Array(8).fill(100));
      expect(slots.begun).toHaveLength(9);
      await slots.enter('a/quiet/2');
      expect(slots.begun.at(-1)).toBe('a/quiet/2');
      await slots.end('a/quiet/2');
      await endRests();
      expect(slots.begun.slice(10)).toEqual(['a/loud/8']);
    });

    test('goes on without its rest once it is alone', async () => {
      const slots = await busyGroup();
      await slots.end('a/quiet/1');
      await endLoud(slots, 8);
      expect(slots.begun).toHaveLength(9);
      now += 251;
      await slots.enter('a/loud/12');
      expect(slots.begun.slice(9)).toEqual([8, 9, 10, 11, 12].map((n) => `a/loud/${n}`));
    });

    test('begins another beside a turn that takes long', async () => {
      const slots = await busyGroup();
      await endLoud(slots, 7);
      await endRests();
      expect(slots.begun).toHaveLength(9);
      now += 150;
      for (const { end } of ageing) end();
      await settled();
      expect(slots.begun.slice(9)).toEqual(['a/loud/8']);
    });
  });

  test('a group that is alone again goes on without its rest', async () => {
    const slots = await busy({ restFrom: 0.5 }, ['quiet/x/1']);
    await slots.end('quiet/x/1', 'loud/x/0', 'loud/x/1', 'loud/x/2', 'loud/x/3');
    expect(slots.begun).toHaveLength(5);
    now += 251;
    await slots.enter('loud/x/8');
    expect(slots.begun).toHaveLength(10);
  });

  test.each([
    ['of a service with little to do', { restFrom: 2 }, ['quiet/x/1']],
    ['with as much as the others', { restFrom: 0.5 }, ['a/x/1', 'a/x/2', 'a/x/3']],
    ['where nothing is said of rests', {}, ['quiet/x/1']],
  ])('a group does not rest: %s', async (_name, limits, quiet) => {
    const slots = await busy(limits, quiet);
    await slots.end('loud/x/0');
    expect(rests).toEqual([]);
    expect(slots.begun.at(-1)).toBe('loud/x/4');
  });
});

test('a free slot goes to the group with fewest, whoever came first', async () => {
  const slots = new Slots({ perGroupMax: 3, aloneMax: 3 });
  await slots.enter('a/x/1', 'a/x/2', 'a/x/3', 'a/x/4', 'a/x/5', 'b/y/1', 'b/y/2', 'c/z/1');
  await slots.end('a/x/1', 'a/x/2');
  expect(slots.begun.slice(3)).toEqual(['b/y/1', 'c/z/1']);
  await slots.end('b/y/1', 'c/z/1');
  expect(slots.begun.slice(5)).toEqual(['b/y/2', 'a/x/4']);
});

test('the members of a group take turns', async () => {
  const slots = new Slots({ slots: 1, perGroupMax: 1, aloneMax: 1 });
  await slots.enter('a/x/1', 'a/x/2', 'a/x/3', 'a/x/4', 'a/y/1', 'a/y/2');
  for (const name of ['a/x/1', 'a/x/2', 'a/y/1', 'a/x/3', 'a/y/2']) await slots.end(name);
  expect(slots.begun).toEqual(['a/x/1', 'a/x/2', 'a/y/1', 'a/x/3', 'a/y/2', 'a/x/4']);
});

test('a turn that pauses makes room, and comes before the others of its member again', async () => {
  const slots = new Slots({ slots: 1, perGroupMax: 1, aloneMax: 1 });
  await slots.enter('a/x/1', 'a/x/2', 'a/x/3');
  slots.turn('a/x/1').pause();
  await settled();
  expect(slots.begun).toEqual(['a/x/1', 'a/x/2']);
  const resumed = slots.turn('a/x/1').resume();
  await slots.end('a/x/2');
  expect(await resumed).toBe(true);
  expect(slots.begun).toEqual(['a/x/1', 'a/x/2']);
  await slots.end('a/x/1');
  expect(slots.begun).toEqual(['a/x/1', 'a/x/2', 'a/x/3']);
});

test('a turn that pauses, and whose group has gone meanwhile, counts with those that came later', async () => {
  const slots = new Slots({ slots: 2, perGroupMax: 1, aloneMax: 1 });
  await slots.enter('a/x/1');
  slots.turn('a/x/1').pause();
  await slots.enter('a/x/2');
  const resumed = slots.turn('a/x/1').resume();
  await slots.enter('a/x/3');
  expect(slots.begun).toEqual(['a/x/1', 'a/x/2']);
  await slots.end('a/x/2');
  expect(await resumed).toBe(true);
  expect(slots.begun).toEqual(['a/x/1', 'a/x/2']);
});

test('a turn that ends while it waits or pauses has no slot, and holds none', async () => {
  const slots = new Slots({ slots: 1, perGroupMax: 1, aloneMax: 1 });
  await slots.enter('a/x/1', 'a/x/2', 'a/x/3');
  await slots.end('a/x/2', 'a/x/2');
  expect(slots.refused).toEqual(['a/x/2']);
  slots.turn('a/x/1').pause();
  await slots.end('a/x/1');
  expect(await slots.turn('a/x/1').resume()).toBe(false);
  expect(slots.begun).toEqual(['a/x/1', 'a/x/3']);
  await slots.end('a/x/3');
  await slots.enter('b/y/1');
  expect(slots.begun.at(-1)).toBe('b/y/1');
});

describe('when as many wait as may', () => {
  const full = { slots: 1, perGroupMax: 1, aloneMax: 1, waitingMax: 4 };

  test('a newcomer displaces the newest of the group with most', async () => {
    const slots = new Slots(full);
    await slots.enter('a/x/1', 'a/x/2', 'a/x/3', 'a/x/4', 'a/x/5');
    await slots.enter('b/y/1');
    expect(slots.refused).toEqual(['a/x/5']);
    await slots.enter('a/x/6');
    expect(slots.refused).toEqual(['a/x/5', 'a/x/6']);
    await slots.enter('b/y/2');
    expect(slots.refused).toEqual(['a/x/5', 'a/x/6', 'a/x/4']);
    // Now both have two: none makes room for the other.
    await slots.enter('b/y/3');
    expect(slots.refused.at(-1)).toBe('b/y/3');
  });

  test('a newcomer of the same group displaces the newest of the member with most', async () => {
    const slots = new Slots(full);
    await slots.enter('a/x/1', 'a/x/2', 'a/x/3', 'a/x/4', 'a/x/5');
    await slots.enter('a/y/1');
    expect(slots.refused).toEqual(['a/x/5']);
    await slots.end('a/x/1', 'a/x/2');
    expect(slots.begun).toEqual(['a/x/1', 'a/x/2', 'a/y/1']);
  });

  test('one with nearly as many displaces nobody, and one with few still does', async () => {
    const slots = new Slots({ slots: 1, perGroupMax: 1, aloneMax: 1, waitingMax: 40 });
    const named = (member: string, count: number): string[] =>
      Array.from({ length: count }, (_, n) => `a/${member}/${n}`);
    await slots.enter(...named('x', 22), ...named('y', 19));
    expect(slots.refused).toEqual([]);
    // x has 21 that wait, y 19: within an eighth.
    await slots.enter('a/y/more');
    expect(slots.refused).toEqual(['a/y/more']);
    await slots.enter('a/z/1');
    expect(slots.refused).toEqual(['a/y/more', 'a/x/21']);
  });
});

test('who waited for others has its slot once they are past, though nothing else happens', async () => {
  const clock = new Clock();
  const leave = enterWorld(clock.world);
  try {
    const slots = new Slots({ slots: 12, perGroupMax: 2, aloneMax: 9, pastMs: 250, restFrom: 0.5 });
    await slots.enter('a/x/hangs', 'a/x/hangs too');
    clock.forward(200);
    await slots.enter('b/y/1');
    await slots.end('b/y/1');
    await slots.enter('a/x/1');
    expect(slots.begun).not.toContain('a/x/1');
    clock.forward(500);
    await settled();
    expect(slots.begun).toContain('a/x/1');
    // Nothing is looked for any more.
    clock.forward(500);
    expect(clock.waiting).toBe(0);
  } finally {
    leave();
  }
});
