import { LRUCache } from 'lru-cache';
import { upToEntries } from '../../src/foundation/up-to-entries.js';

it('a cache keeps so many entries, those that were used last', () => {
  const cache = new LRUCache<string, number>(upToEntries(2));
  cache.set('a', 1);
  cache.set('b', 2);
  cache.get('a');
  cache.set('c', 3);
  expect([...cache.keys()].sort()).toEqual(['a', 'c']);
});

it('the cache has as many again after entries went and were replaced', () => {
  const cache = new LRUCache<string, number>(upToEntries(2));
  for (let n = 0; n < 10; n++) cache.set('a', n);
  cache.set('b', 0);
  cache.delete('a');
  cache.set('c', 0);
  cache.set('d', 0);
  expect([...cache.keys()].sort()).toEqual(['c', 'd']);
  cache.clear();
  cache.set('e', 0);
  cache.set('f', 0);
  expect(cache.size).toBe(2);
});
