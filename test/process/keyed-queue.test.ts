import { KeyedQueue } from '../../src/foundation/keyed-queue.js';

async function settled(): Promise<void> {
  for (let n = 0; n < 10; n++) await Promise.resolve();
}

test('calls of one key take turns in order of arrival, those of other keys continue', async () => {
  const turns = new KeyedQueue();
  const begun: string[] = [];
  const ends = new Map<string, () => void>();
  const take = (key: string, name: string): Promise<string> =>
    turns.run(key, () => {
      begun.push(name);
      return new Promise((resolve) => ends.set(name, () => resolve(name)));
    });
  const one = take('a', 'one');
  const other = take('a', 'other');
  void take('b', 'elsewhere');
  await settled();
  expect(begun).toEqual(['one', 'elsewhere']);
  ends.get('one')!();
  expect(await one).toBe('one');
  await settled();
  expect(begun).toEqual(['one', 'elsewhere', 'other']);
  ends.get('other')!();
  expect(await other).toBe('other');
});

test('a turn that fails or throws ends like any other', async () => {
  const turns = new KeyedQueue();
  const failed = turns.run('a', () => Promise.reject(new Error('failed')));
  const thrown = turns.run('a', () => {
    throw new Error('thrown');
  });
  const last = turns.run('a', () => Promise.resolve('last'));
  await expect(failed).rejects.toThrow('failed');
  await expect(thrown).rejects.toThrow('thrown');
  expect(await last).toBe('last');
});
