/** What is used of the library, which brings no types. */
declare module 'html-to-text' {
  export interface Selector {
    readonly selector: string;
    readonly format?: string;
    readonly options?: Readonly<Record<string, unknown>>;
  }

  /** Compiled once: a converter of HTML to text. */
  export function compile(options: {
    readonly wordwrap: false;
    readonly selectors: readonly Selector[];
  }): (html: string) => string;
}
