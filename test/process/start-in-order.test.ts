import { startInOrder, type OnStop } from '../../src/process/start-in-order.js';

let undone: string[];
beforeEach(() => {
  undone = [];
});

const started = (onStop: OnStop, name: string): void => onStop(() => void undone.push(name));

it('a stop undoes every start in reverse order, once', async () => {
  const service = await startInOrder(async (onStop) => {
    started(onStop, 'stores');
    await Promise.resolve();
    started(onStop, 'jobs');
    started(onStop, 'http');
    return { parts: ['stores', 'jobs', 'http'] };
  });
  expect(service.parts).toEqual(['stores', 'jobs', 'http']);
  expect(undone).toEqual([]);
  await service.stop();
  await service.stop();
  expect(undone).toEqual(['http', 'jobs', 'stores']);
});

it('a failing start undoes the earlier ones in reverse order and throws its error', async () => {
  const starting = startInOrder(async (onStop) => {
    started(onStop, 'stores');
    started(onStop, 'jobs');
    await Promise.reject(new Error('the port is taken'));
    started(onStop, 'never reached');
    return {};
  });
  await expect(starting).rejects.toThrow('the port is taken');
  expect(undone).toEqual(['jobs', 'stores']);
});

it('a part that cannot be undone does not keep the others from it', async () => {
  const service = await startInOrder((onStop) => {
    started(onStop, 'stores');
    onStop(() => Promise.reject(new Error('second failure')));
    onStop(() => Promise.reject(new Error('first failure')));
    started(onStop, 'http');
    return Promise.resolve({});
  });
  await expect(service.stop()).rejects.toThrow('first failure');
  expect(undone).toEqual(['http', 'stores']);
});

it('an undo that hangs does not keep those before it from being undone', async () => {
  jest.useFakeTimers({ doNotFake: ['queueMicrotask', 'nextTick'] });
  try {
    const hanging = (): Promise<void> => new Promise(() => undefined);
    const service = await startInOrder((onStop) => {
      onStop(() => void undone.push('stores'), { limitsItself: true });
      onStop(hanging);
      onStop(hanging);
      started(onStop, 'jobs');
      return Promise.resolve({});
    });
    const stopped = service.stop();
    await jest.advanceTimersByTimeAsync(10_000);
    await stopped;
    expect(undone).toEqual(['jobs', 'stores']);
  } finally {
    jest.useRealTimers();
  }
});
