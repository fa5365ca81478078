import type { FieldTexts } from './reference-texts.js';

/** What the reference reads and writes of a JSON Schema. */
export interface JsonSchema {
  $ref?: string;
  type?: string | string[];
  format?: string;
  enum?: unknown[];
  description?: string;
  properties?: Record<string, JsonSchema>;
  items?: JsonSchema;
  additionalProperties?: boolean | JsonSchema;
  allOf?: JsonSchema[];
  anyOf?: JsonSchema[];
  oneOf?: JsonSchema[];
}

/**
 * The fields of a schema by their paths: `a.b` of an object, `a[].b` of an array, `a.*.b` of a map.
 * The fields of a named schema are its own: the walk ends at a reference.
 */
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

/** Writes the texts into the fields. @returns the paths of the texts that found a field. */
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

/** A schema without fields of its own, such as that of a document of an operation. */
export const isOpen = (schema: JsonSchema): boolean =>
  schema.$ref === undefined && fieldsOf(schema).length === 0;

/** Declares the fields that only the texts know, each with the type that its text gives. */
export function declareFields(schema: JsonSchema, texts: FieldTexts): void {
  for (const [path, { type, text }] of texts) {
    if (type === undefined) continue;
    Object.assign(fieldAt(schema, path), typeOf(type), { description: text });
  }
}

/** The field of a path; it and those above it are made where they are missing. */
function fieldAt(schema: JsonSchema, path: string): JsonSchema {
  let field = schema;
  for (const [step] of path.matchAll(/[^.[\]]+|\[\]/g)) {
    if (step === '[]') field = field.items ??= {};
    else if (step === '*')
      field = field.additionalProperties =
        typeof field.additionalProperties === 'object' ? field.additionalProperties : {};
    else {
      field.type ??= 'object';
      field = (field.properties ??= {})[step] ??= {};
    }
  }
  return field;
}

/** The schema of `integer or null`, `time`, `array of string`, `live|test`. */
export function typeOf(words: string): JsonSchema {
  const isNullable = words.endsWith(' or null');
  const name = isNullable ? words.slice(0, -' or null'.length) : words;
  if (name === 'any') return {};
  if (name.includes('|')) return { type: 'string', enum: name.split('|') };
  const [kind = '', item] = name.split(' of ');
  const type = kind === 'time' ? 'string' : kind;
  return {
    type: isNullable ? [type, 'null'] : type,
    ...(kind === 'time' ? { format: 'date-time' } : {}),
    ...(kind === 'array' ? { items: item === undefined ? {} : { type: item } } : {}),
  };
}
