/** The used part of the library, which has no types. */
declare module 'html-to-text' {
  export interface Selector {
    readonly selector: string;
    readonly format?: string;
    readonly options?: Readonly<Record<string, unknown>>;
  }

  export function compile(options: {
    readonly wordwrap: false;
    readonly selectors: readonly Selector[];
  }): (html: string) => string;
}
