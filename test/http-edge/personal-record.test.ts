import { pages, recordText } from '../../src/http/personal-data/personal-record.js';

const textOf = async (parts: AsyncIterable<string>): Promise<string> => {
  let text = '';
  for await (const part of parts) text += part;
  return text;
};
async function* listOf(
  ...given: readonly (readonly object[])[]
): AsyncGenerator<readonly object[]> {
  for (const page of given) yield await Promise.resolve(page);
}

test('lists of any number of pages make one record, with the number of its entries', async () => {
  const record = { id: 'a"b', segments: [] };
  const lists = { rewards: listOf(), referrals: listOf([], [{ n: 1 }, { n: 2 }], [], [{ n: 3 }]) };
  expect(JSON.parse(await textOf(recordText(record, lists)))).toStrictEqual({
    ...record,
    rewards: { data: [], totalCount: 0 },
    referrals: { data: [{ n: 1 }, { n: 2 }, { n: 3 }], totalCount: 3 },
  });
});

test('a page is read when the previous one is written, from its end on', async () => {
  const asked: (number | undefined)[] = [];
  const list = pages<{ n: number }, number>((after) => {
    asked.push(after);
    const n = (after ?? 0) + 1;
    return Promise.resolve({ items: [{ n }], next: n < 3 ? n : undefined });
  });
  const parts = recordText({ id: 'a' }, { list });
  const read: number[] = [];
  let text = '';
  for await (const part of parts) {
    text += part;
    read.push(asked.length);
  }
  expect(JSON.parse(text)).toStrictEqual({
    id: 'a',
    list: { data: [{ n: 1 }, { n: 2 }, { n: 3 }], totalCount: 3 },
  });
  expect(asked).toStrictEqual([undefined, 1, 2]);
  expect(read).toStrictEqual([0, 0, 1, 2, 3, 3, 3]);
});
