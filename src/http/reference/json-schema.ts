import type { FieldTexts } from './reference-texts.js';

/** The used part of a JSON Schema. */
export interface JsonSchema {
  $ref?: string;
  type?: string | string[];
  format?: string;
  enum?: unknown[];
  description?: string;
  properties?: Record<string, JsonSchema>;
  required?: string[];
  items?: JsonSchema;
  additionalProperties?: boolean | JsonSchema;
  allOf?: JsonSchema[];
  anyOf?: JsonSchema[];
  oneOf?: JsonSchema[];
}

/** The fields by path: `a.b` of an object, `a[].b` of an array, `a.*.b` of a map; no references. */
export function fieldsOf(
  schema: JsonSchema,
  prefix = '',
): readonly (readonly [string, JsonSchema])[] {
  const { properties = {}, items, additionalProperties } = schema;
  const below = (inner: JsonSchema, path: string) => fieldsOf(inner, path);
  return [
    ...Object.entries(properties).flatMap(([name, field]) => {
      const path = prefix === '' ? name : `${prefix}.${name}`;
      return [[path, field] as const, ...below(field, path)];
    }),
    ...(items === undefined ? [] : below(items, `${prefix}[]`)),
    ...(typeof additionalProperties === 'object' ? below(additionalProperties, `${prefix}.*`) : []),
    ...[schema.allOf, schema.anyOf, schema.oneOf].flatMap((choices) =>
      (choices ?? []).flatMap((choice) => below(choice, prefix)),
    ),
  ];
}

/** Adds descriptions to fields. @returns the paths of existing fields. */
export function describeFields(schema: JsonSchema, texts: FieldTexts): ReadonlySet<string> {
  const used = new Set<string>();
  for (const [path, field] of fieldsOf(schema)) {
    const found = texts.get(path);
    if (found === undefined) continue;
    field.description = found.text;
    used.add(path);
  }
  return used;
}

/** A schema without own fields, such as an operation's document. */
export const isOpen = (schema: JsonSchema): boolean =>
  schema.$ref === undefined && fieldsOf(schema).length === 0;

/** Declares fields that only the texts have, with their types. */
export function declareFields(schema: JsonSchema, texts: FieldTexts): void {
  for (const [path, { type, text }] of texts) {
    if (type === undefined) continue;
    const [words = '', optional] = type.split(', ');
    const field = fieldAt(schema, path, optional === undefined);
    Object.assign(field, typeOf(words), { description: text });
  }
}

/** The field at a path, created with its parents if missing. */
function fieldAt(schema: JsonSchema, path: string, isRequired: boolean): JsonSchema {
  let field = schema;
  for (const [step] of path.matchAll(/[^.[\]]+|\[\]/g)) {
    if (step === '[]') field = field.items ??= {};
    else if (step === '*')
      field = field.additionalProperties =
        typeof field.additionalProperties === 'object' ? field.additionalProperties : {};
    else {
      field.type ??= 'object';
      const known = (field.properties ??= {});
      if (isRequired && known[step] === undefined) (field.required ??= []).push(step);
      field = known[step] ??= {};
    }
  }
  return field;
}

/** The schema of `integer or null`, `time`, `array of string`, `live|test`. */
export function typeOf(words: string): JsonSchema {
  const [name = '', ...others] = words.split(' or ');
  const typed = (type: string) => (others.length === 0 ? type : [type, ...others]);
  if (name === 'any') return {};
  if (name.includes('|'))
    return { type: typed('string'), enum: [...name.split('|'), ...others.map(() => null)] };
  const [kind = '', item] = name.split(' of ');
  return {
    type: typed(kind === 'time' ? 'string' : kind),
    ...(kind === 'time' ? { format: 'date-time' } : {}),
    ...(kind === 'array' ? { items: item === undefined ? {} : { type: item } } : {}),
  };
}
