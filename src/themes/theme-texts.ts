import { isMembers } from './merge-members.js';
import { isDefined, THEME_SCHEMA, type DefinedKind } from './theme-schema.js';

/** A text of a theme whose kind the schema defines. */
export interface ThemeText {
  /** `/email/WELCOME/configuration/subject`. */
  readonly path: string;
  readonly kind: DefinedKind;
  readonly text: string;
}

/** The texts of a theme, or of a part of one, in the order of the schema. */
export const textsOf = (values: unknown): Generator<ThemeText> =>
  textsWithin(THEME_SCHEMA, values, '');

function* textsWithin(schema: object, value: unknown, path: string): Generator<ThemeText> {
  if ('$ref' in schema) {
    const kind = String(schema.$ref).split('/').at(-1);
    if (isDefined(kind) && typeof value === 'string') yield { path, kind, text: value };
  } else if ('properties' in schema && isMembers(value)) {
    for (const [name, member] of Object.entries(schema.properties as Record<string, object>))
      if (Object.hasOwn(value, name)) yield* textsWithin(member, value[name], `${path}/${name}`);
  } else if ('items' in schema && Array.isArray(value)) {
    for (const [index, item] of value.entries())
      yield* textsWithin(schema.items as object, item, `${path}/${index}`);
  }
}
