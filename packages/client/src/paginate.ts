/** Entries of a page. */
const PAGE = 100;

interface ListInput {
  readonly query?: object;
}

/** The entries of a list, of whatever type. */
type EntryOf<Answer> = {
  [Name in keyof Answer]: Answer[Name] extends readonly (infer Entry)[] ? Entry : never;
}[keyof Answer];

/**
 * All entries of a list, page by page: `for await (const user of paginate(client.listUsers))`.
 * @param list a function of the client that takes `limit` and `offset`.
 * @param input as for the function; `query.limit` is the size of a page.
 */
export async function* paginate<Input extends ListInput, Answer extends object>(
  list: (input: Input) => Promise<Answer>,
  input?: Input,
): AsyncGenerator<EntryOf<Answer>, void, undefined> {
  const query = (input?.query ?? {}) as { readonly limit?: number; readonly offset?: number };
  const { limit = PAGE } = query;
  for (let offset = query.offset ?? 0; ; offset += limit) {
    const answer = await list({ ...input, query: { ...query, limit, offset } } as unknown as Input);
    const entries = (Object.values(answer).find((member) => Array.isArray(member)) ??
      []) as readonly EntryOf<Answer>[];
    yield* entries;
    // A page of 0 entries has the totals only, and no page follows it.
    if (limit === 0 || entries.length < limit) return;
  }
}
