import { isMembers } from './merge-members.js';
import { isDefined, THEME_SCHEMA, type DefinedKind } from './theme-schema.js';

/** A text of a defined kind. */
export interface ThemeText {
  /** For example `/email/WELCOME/configuration/subject`. */
  readonly path: string;
  readonly kind: DefinedKind;
  readonly text: string;
}

/** The texts of a theme or a part of it, in the schema's order. */
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
