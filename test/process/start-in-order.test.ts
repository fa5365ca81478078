import { startInOrder, type Started } from '../../src/process/start-in-order.js';

let undone: string[];
beforeEach(() => {
  undone = [];
});

function started(name: string): Started<string> {
  return { part: name, undo: () => void undone.push(name) };
}

const later = async (name: string): Promise<Started<string>> => {
  await Promise.resolve();
  return started(name);
};

it('a stop undoes every start in reverse order, once', async () => {
  const service = await startInOrder(async (start) => {
    const first = await start(started('stores'));
    const second = await start(later('jobs'));
    return { parts: [first, second, await start(started('http'))] };
  });
  expect(service.parts).toEqual(['stores', 'jobs', 'http']);
  expect(undone).toEqual([]);
  await service.stop();
  await service.stop();
  expect(undone).toEqual(['http', 'jobs', 'stores']);
});

it('a start that fails undoes those before it in reverse order, and says why', async () => {
  const starting = startInOrder(async (start) => {
    await start(started('stores'));
    await start(later('jobs'));
    await start(Promise.reject(new Error('the port is taken')));
    await start(started('never reached'));
    return {};
  });
  await expect(starting).rejects.toThrow('the port is taken');
  expect(undone).toEqual(['jobs', 'stores']);
});

it('a part that cannot be undone does not keep the others from it', async () => {
  const failing = (message: string): Started<string> => ({
    part: '',
    undo: () => Promise.reject(new Error(message)),
  });
  const service = await startInOrder(async (start) => {
    await start(started('stores'));
    await start(failing('second failure'));
    await start(failing('first failure'));
    await start(started('http'));
    return {};
  });
  await expect(service.stop()).rejects.toThrow('first failure');
  expect(undone).toEqual(['http', 'stores']);
});

it('an undo that hangs does not keep those before it from being undone', async () => {
  jest.useFakeTimers({ doNotFake: ['queueMicrotask', 'nextTick'] });
  try {
    const hanging = (): Promise<void> => new Promise(() => undefined);
    const service = await startInOrder(async (start) => {
      await start({ ...started('stores'), limitsItself: true });
      await start({ part: 'pool', undo: hanging });
      await start({ part: 'follower', undo: hanging });
      await start(started('jobs'));
      return {};
    });
    const stopped = service.stop();
    await jest.advanceTimersByTimeAsync(10_000);
    await stopped;
    expect(undone).toEqual(['jobs', 'stores']);
  } finally {
    jest.useRealTimers();
  }
});
