/** What is wrong with the fields of a page's forms, by their ids. */
export type Wrong = Readonly<Record<string, string>>;

/** A choice of a field; one without words shows its value. */
export type FieldOption = string | { readonly value: string; readonly words: string };
export const valueIn = (option: FieldOption): string =>
  typeof option === 'string' ? option : option.value;
