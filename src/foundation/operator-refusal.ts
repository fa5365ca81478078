/**
 * A member of a request in a sentence for operators: `asOf` over HTTP, `--as-of` on the command
 * line.
 */
export class Argument {
  constructor(readonly name: string) {}
}

export const argument = (name: string): Argument => new Argument(name);

/** A sentence that names members of the request. */
export type Sentence = readonly (string | number | Argument)[];

export function sentence(texts: TemplateStringsArray, ...values: Sentence): Sentence {
  return texts.flatMap((text, index) => [text, ...values.slice(index, index + 1)]);
}

/** The reason why an operation was refused. `message` names members as in the request. */
export class OperatorRefusal extends Error {
  override readonly name: string = 'OperatorRefusal';

  constructor(private readonly said: string | Sentence) {
    super(worded(said, (name) => name));
  }

  /** @param wordFor how this interface spells a member of the request. */
  inWords(wordFor: (name: string) => string): string {
    return worded(this.said, wordFor);
  }
}

const worded = (said: string | Sentence, wordFor: (name: string) => string): string =>
  typeof said === 'string'
    ? said
    : said.map((part) => (part instanceof Argument ? wordFor(part.name) : part)).join('');
