import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { PLANTS, placesOf } from '../../simulator/plants.js';

const DIST = join(__dirname, '../../dist');

it.each(PLANTS.map(({ name, file, find, replace }) => [name, { file, find, replace }] as const))(
  'the plant %s has one place in the code as it is',
  (_, { file, find, replace }) => {
    expect(readFileSync(join(DIST, file), 'utf8').match(placesOf({ find }))).toHaveLength(1);
    expect(replace).not.toBe(find);
  },
);

it('plants have names of their own', () => {
  const names = PLANTS.map(({ name }) => name);
  expect(names).toEqual([...new Set(names)]);
});
