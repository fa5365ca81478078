import fc from 'fast-check';
import type { DescribedOperations, Operation, Schema } from './described-operations.js';
import { customFields, IN_BODY, sparse, type Values } from './known-values.js';

/** Values that fit a schema, and values that break one constraint of it. */

/** Stands for a member that is left out. */
export const ABSENT = Symbol('absent');

/** One constraint broken: the values that do so at a place of a request. */
export interface Break {
  readonly path: readonly string[];
  readonly value: Values;
}

const LENGTH_MAX = 30;
const ITEMS_MAX = 4;

/** Halves of surrogate pairs and control characters among them. */
export const character = fc
  .integer({ min: 0, max: 0x10ffff })
  .map((code) => String.fromCodePoint(code));

/** Any JSON, small. */
export const anyJson: Values = fc.jsonValue({ maxDepth: 3, stringUnit: character });

const typesOf = ({ type }: Schema): readonly string[] => [type ?? []].flat();

export class SchemaArbitraries {
  constructor(private readonly described: DescribedOperations) {}

  /** A value that fits. */
  fitting(given: Schema): Values {
    const { name, schema } = this.described.resolve(given);
    const known = IN_BODY[name];
    if (known !== undefined) return known;
    if (schema.enum !== undefined) return fc.constantFrom(...schema.enum);
    const branches = schema.oneOf ?? schema.anyOf;
    if (branches !== undefined) return fc.oneof(...branches.map((branch) => this.fitting(branch)));
    const ofTypes = typesOf(schema).map((type) => ({
      arbitrary: this.ofType(type, schema, name),
      weight: type === 'null' ? 1 : 4,
    }));
    return ofTypes.length === 0 ? anyJson : fc.oneof(...ofTypes);
  }

  /** Every way to break one constraint of a parameter or of the body. */
  breaks({ parameters, body }: Operation): readonly Break[] {
    return [
      ...parameters.flatMap((parameter) => {
        const path = [parameter.in === 'header' ? 'headers' : parameter.in, parameter.name];
        return [
          ...(parameter.required && parameter.in !== 'path' ? [left(path)] : []),
          { path, value: fc.constantFrom<unknown>('', '\u0000', 'a\nb', 'x'.repeat(3000), '..') },
          ...this.breaksOf(parameter.schema, path),
        ];
      }),
      ...(body === undefined ? [] : this.breaksOf(body, ['body'])),
    ];
  }

  private ofType(type: string, schema: Schema, name: string): Values {
    const { minimum, maximum } = schema;
    switch (type) {
      case 'null':
        return fc.constant(null);
      case 'boolean':
        return fc.boolean();
      case 'integer':
        return fc.integer({
          min: minimum ?? Number.MIN_SAFE_INTEGER,
          max: maximum ?? Number.MAX_SAFE_INTEGER,
        });
      case 'number':
        return fc.double({
          min: minimum ?? -1e300,
          max: maximum ?? 1e300,
          noNaN: true,
        });
      case 'string':
        return textOf(schema);
      case 'array':
        return fc.array(this.fitting(schema.items ?? {}), {
          minLength: schema.minItems ?? 0,
          maxLength: Math.min(schema.maxItems ?? ITEMS_MAX, ITEMS_MAX),
        });
      case 'object':
        return this.objectOf(schema, name);
      default:
        throw new Error(`no values of the type ${type} are known`);
    }
  }

  private objectOf({ properties = {}, required = [] }: Schema, name: string): Values {
    const members = Object.entries(properties);
    // A free-form map; which names it takes is said in words alone.
    if (members.length === 0) return customFields;
    const values = members.map(([member, schema]): [string, Values] => [
      member,
      IN_BODY[`${name}.${member}`] ?? IN_BODY[member] ?? this.fitting(schema),
    ]);
    return sparse(Object.fromEntries(values), required);
  }

  private breaksOf(given: Schema, path: readonly string[]): readonly Break[] {
    const { schema } = this.described.resolve(given);
    const { properties = {}, required = [], items } = schema;
    const branches = schema.oneOf ?? schema.anyOf;
    if (branches !== undefined) return branches.flatMap((branch) => this.breaksOf(branch, path));
    const wrong = [...ofOtherTypes(schema), ...beyondLimits(schema)];
    return [
      ...(wrong.length === 0 ? [] : [{ path, value: fc.constantFrom(...wrong) }]),
      ...Object.entries(properties).flatMap(([member, ofMember]) => [
        ...(required.includes(member) ? [left([...path, member])] : []),
        ...this.breaksOf(ofMember, [...path, member]),
      ]),
      ...(items === undefined ? [] : this.breaksOf(items, [...path, '0'])),
    ];
  }
}

const left = (path: readonly string[]): Break => ({ path, value: fc.constant(ABSENT) });

function textOf({ pattern, minLength = 0, maxLength = LENGTH_MAX }: Schema): Values {
  if (pattern !== undefined) return fc.stringMatching(new RegExp(pattern));
  const limits = { minLength, maxLength: Math.min(maxLength, Math.max(minLength, LENGTH_MAX)) };
  return fc.string({ unit: 'grapheme', ...limits });
}

const OF_TYPES: readonly (readonly [string, unknown])[] = [
  ['null', null],
  ['boolean', true],
  ['number', 0.5],
  ['integer', 7],
  ['string', 'x'],
  ['array', []],
  ['array', [null]],
  ['object', {}],
  ['object', { length: -1, toString: 1 }],
];

function ofOtherTypes(schema: Schema): readonly unknown[] {
  const types = typesOf(schema);
  return types.length === 0
    ? []
    : OF_TYPES.filter(([type]) => !types.includes(type)).map(([, value]) => value);
}

function beyondLimits(schema: Schema): readonly unknown[] {
  const { minimum, maximum, minLength, maxLength, minItems, maxItems, maxProperties } = schema;
  const types = typesOf(schema);
  return [
    ...(types.includes('string')
      ? ['a\u0000b', '\u007f', '\ud800', '\u202ex', '😀'.repeat(300), 'x'.repeat(3000)]
      : []),
    ...(schema.enum === undefined ? [] : ['NONE', 'paid', '']),
    ...(schema.pattern === undefined ? [] : ['!', 'é', 'x y']),
    ...(minLength === undefined ? [] : ['']),
    ...(maxLength === undefined ? [] : ['x'.repeat(maxLength + 1), 'x'.repeat(maxLength)]),
    ...(types.includes('integer') ? [0.1, 2 ** 53, -(2 ** 63), 1e300] : []),
    ...(minimum === undefined ? [] : [minimum - 1, minimum]),
    ...(maximum === undefined ? [] : [maximum + 1, maximum]),
    ...(minItems === undefined ? [] : [[]]),
    ...(maxItems === undefined ? [] : [Array(maxItems + 1).fill({})]),
    ...(maxProperties === undefined ? [] : [Object.fromEntries(numbered(maxProperties + 1))]),
  ];
}

const numbered = (count: number): [string, number][] =>
  Array.from({ length: count }, (_, index) => [`f${index}`, index]);
