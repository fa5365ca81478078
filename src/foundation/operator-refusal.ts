/**
 * A member of a request, named in a sentence for an operator: `asOf` over HTTP, `--as-of` on the
 * command line.
 */
export class Argument {
  constructor(readonly name: string) {}
}

export const argument = (name: string): Argument => new Argument(name);

/** A sentence in which members of the request are named. */
export type Sentence = readonly (string | number | Argument)[];

export function sentence(texts: TemplateStringsArray, ...values: Sentence): Sentence {
  return texts.flatMap((text, index) => [text, ...values.slice(index, index + 1)]);
}

/** Why an operation did not happen. `message` names members as the request has them. */
export class OperatorRefusal extends Error {
  override readonly name: string = 'OperatorRefusal';

  constructor(private readonly said: string | Sentence) {
    super(worded(said, (name) => name));
  }

  /** @param wordFor how clients of this way in write a member of the request. */
  inWords(wordFor: (name: string) => string): string {
    return worded(this.said, wordFor);
  }
}

const worded = (said: string | Sentence, wordFor: (name: string) => string): string =>
  typeof said === 'string'
    ? said
    : said.map((part) => (part instanceof Argument ? wordFor(part.name) : part)).join('');
