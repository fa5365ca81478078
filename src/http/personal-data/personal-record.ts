/** A page of a list with the start of the next one; undefined: the last page. */
export interface PageOf<T, Place> {
  readonly items: readonly T[];
  readonly next: Place | undefined;
}

export type ReadPage<T, Place> = (after: Place | undefined) => Promise<PageOf<T, Place>>;

/** The pages of a list, each read on demand. */
export async function* pages<T extends object, Place>(
  read: ReadPage<T, Place>,
): AsyncGenerator<readonly T[]> {
  for (let after: Place | undefined; ;) {
    const { items, next } = await read(after);
    yield items;
    if (next === undefined) return;
    after = next;
  }
}

/**
 * The JSON of a record with lists as `{data, totalCount}`, written page by page to limit memory.
 * The count comes last and counts the written rows, whatever changes meanwhile.
 */
export async function* recordText(
  record: object,
  lists: Readonly<Record<string, AsyncIterable<readonly object[]>>>,
): AsyncGenerator<string> {
  yield JSON.stringify(record).slice(0, -1);
  for (const [name, list] of Object.entries(lists)) {
    yield `,${JSON.stringify(name)}:{"data":[`;
    let totalCount = 0;
    for await (const items of list) {
      if (items.length > 0)
        yield `${totalCount === 0 ? '' : ','}${JSON.stringify(items).slice(1, -1)}`;
      totalCount += items.length;
    }
    yield `],"totalCount":${totalCount}}`;
  }
  yield '}';
}
