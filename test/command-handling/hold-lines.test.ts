import { HoldLines, WaitsInCircle } from '../../src/command-handling/processes/hold-lines.js';
import { TooBusy } from '../../src/command-handling/stream-queues.js';
import { enterWorld } from '../../src/foundation/world.js';
import { SeededRandom } from '../../simulator/seeded-random.js';
import { Owner, VirtualWorld } from '../../simulator/virtual-world.js';

/** The lines of those who wait for moderations, without any log. */
let lines: HoldLines;
beforeEach(() => (lines = new HoldLines()));

const turns = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

it('at an account everybody has a turn, in order of arrival; another account is free', async () => {
  const leave = await lines.begin('first').enter('account');
  const begun: string[] = [];
  const later = ['second', 'third', 'fourth'].map(async (name) => {
    const leaveLater = await lines.begin(name).enter('account');
    begun.push(name);
    leaveLater();
  });
  (await lines.begin('elsewhere').enter('another account'))();
  await turns();
  expect(begun).toEqual([]);
  leave();
  await Promise.all(later);
  expect(begun).toEqual(['second', 'third', 'fourth']);
});

it('whoever would close a circle is refused at once, also through those who stand in a line', async () => {
  const [one, other, command] = [lines.begin('one'), lines.begin('other'), lines.begin()];
  const leave = await command.enter('account');
  const oneBegins = one.enter('account');
  let end = (): void => undefined;
  const waits = command.await('other', () => new Promise<void>((resolve) => (end = resolve)));
  // One waits for the command, which waits for the other.
  await expect(other.await('one', () => Promise.resolve())).rejects.toThrow(WaitsInCircle);
  end();
  await waits;
  leave();
  (await oneBegins)();
  await expect(other.await('one', () => Promise.resolve('its end'))).resolves.toBe('its end');
});

it('a moderation that holds the account meanwhile passes those whom it keeps waiting', async () => {
  const first = lines.begin('first');
  const leave = await first.enter('account');
  const holder = lines.begin('holder').enter('account');
  let hasBegun = false;
  const last = lines.begin('last').enter('account');
  void last.then(() => (hasBegun = true));
  await first.await('holder', async () => (await holder)());
  expect(hasBegun).toBe(false);
  leave();
  (await last)();
});

describe('in a world whose time passes at once', () => {
  let world: VirtualWorld;
  let leaveWorld: () => void;
  beforeEach(() => {
    world = new VirtualWorld(new SeededRandom(1));
    leaveWorld = enterWorld(world);
  });
  afterEach(() => leaveWorld());

  const passUntil = (ms: number): Promise<void> => {
    let isThen = false;
    world.hand(new Owner('time'), () => (isThen = true), ms - world.elapsed());
    return world.runUntil(() => isThen);
  };

  it('nobody waits for longer than 20 s in all, and who gave up is passed over', async () => {
    const leave = await lines.begin('first').enter('account');
    const impatient = lines
      .begin('second')
      .enter('account')
      .catch((error: unknown) => error);
    await passUntil(15_000);
    const next = lines.begin('third').enter('account');
    await passUntil(20_000);
    expect(await impatient).toBeInstanceOf(TooBusy);
    leave();
    (await next)();
  });

  it('the time in the line counts for the wait in the turn', async () => {
    const leave = await lines.begin('first').enter('account');
    const wait = lines.begin('second');
    const turn = wait.enter('account');
    await passUntil(15_000);
    leave();
    const leaveTurn = await turn;
    const neverEnds = wait.await('held', () => new Promise(() => undefined));
    const refused = neverEnds.catch((error: unknown) => error);
    await passUntil(20_000);
    expect(await refused).toBeInstanceOf(TooBusy);
    leaveTurn();
  });
});
