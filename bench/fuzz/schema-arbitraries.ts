import fc from 'fast-check';
import type { DescribedOperations, Operation, Parameter, Schema } from './described-operations.js';
import { drawn, Slot, slotOf } from './slots.js';

/** Values that fit a schema, and values that break one constraint of it. */

export type Values = fc.Arbitrary<unknown>;

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
const plainJson = fc.jsonValue({ maxDepth: 2 });

/** Texts that clients do send, wherever a text is free. */
export const TEXTS: readonly string[] = [
  ' ',
  ' a ',
  'a b',
  'a/b',
  'a%2Fb',
  '..',
  '?x=1&y#z',
  '<b>{{x}}',
  '%00',
  '-1',
  '\u00e9',
  'e\u0301',
  '\u202eabc\u00a0',
  '😀'.repeat(255),
  'x'.repeat(255),
  'null',
  'true',
  '1e5',
  'constructor',
  '__proto__',
  "'; drop table x; --",
  '2024-02-30',
];

const typesOf = ({ type }: Schema): readonly string[] => [type ?? []].flat();
const mostly = (often: Values, seldom: Values): Values =>
  fc.oneof({ arbitrary: often, weight: 4 }, { arbitrary: seldom, weight: 1 });

export class SchemaArbitraries {
  constructor(private readonly described: DescribedOperations) {}

  /** @param name of the member, or of its schema and the member. */
  fitting(given: Schema, name = ''): Values {
    const schema = this.whole(given);
    const made = this.made(schema, name);
    const kind = slotOf(name);
    if (kind === undefined) return made;
    const known = drawn.map((draw) => new Slot(kind, draw));
    // Whether a mail can be sent depends on the world, which the schema does not know.
    return kind === 'mail-to' ? known : mostly(known, made);
  }

  /** Members that are required, and some or all of the others. */
  members(
    members: readonly (readonly [name: string, values: Values])[],
    required: readonly string[],
  ): fc.Arbitrary<Readonly<Record<string, unknown>>> {
    const all = fc.tuple(...members.map(([, values]) => values));
    return fc.tuple(all, drawn, fc.noShrink(drawn)).map(([values, kept, share]) => {
      const chosen = members.flatMap(([name], index): [string, unknown][] =>
        required.includes(name) || share % 8 === 0 || isKept(kept, index)
          ? [[name, values[index]]]
          : [],
      );
      return Object.fromEntries(chosen);
    });
  }

  /** Every way to break one constraint of a parameter or of the body. */
  breaks({ parameters, body, needsBody }: Operation): readonly Break[] {
    return [
      ...parameters.flatMap((parameter) => this.breaksOfParameter(parameter)),
      ...(needsBody ? [{ path: ['body'], value: fc.constant(undefined) }] : []),
      ...(body === undefined ? [] : this.breaksOf(body, ['body'])),
    ];
  }

  /** A reference followed, the parts of `allOf` joined. */
  private whole(given: Schema): Schema {
    const { $ref, allOf = [], ...own } = given;
    const parts = [...($ref === undefined ? [] : [this.described.resolve(given)]), ...allOf];
    return parts.map((part) => this.whole(part)).reduceRight(joined, own);
  }

  private made(schema: Schema, name: string): Values {
    const { enum: values, oneOf, anyOf, then, ...base } = schema;
    if ('const' in schema) return fc.constant(schema.const);
    if (values !== undefined) return fc.constantFrom(...values);
    const branches = then === undefined ? (oneOf ?? anyOf) : [base, joined(base, this.whole(then))];
    if (branches !== undefined)
      return fc.oneof(...branches.map((one) => this.made(joined(base, this.whole(one)), name)));
    const ofTypes = typesOf(schema).map((type) => ({
      arbitrary: this.ofType(type, schema, name),
      weight: type === 'null' ? 1 : 4,
    }));
    return ofTypes.length === 0 ? plainJson : fc.oneof(...ofTypes);
  }

  private ofType(type: string, schema: Schema, name: string): Values {
    const { minimum, maximum, minItems = 0, maxItems = ITEMS_MAX } = schema;
    switch (type) {
      case 'null':
        return fc.constant(null);
      case 'boolean':
        return fc.boolean();
      case 'integer':
        return fc.maxSafeInteger().chain((any) =>
          mostly(
            fc.integer({
              min: minimum ?? Number.MIN_SAFE_INTEGER,
              max: maximum ?? Number.MAX_SAFE_INTEGER,
            }),
            fc.constantFrom(minimum ?? any, maximum ?? any),
          ),
        );
      case 'number':
        return fc.double({ min: minimum ?? -1e300, max: maximum ?? 1e300, noNaN: true });
      case 'string':
        return textFitting(schema);
      case 'array':
        return fc.array(this.fitting(schema.items ?? {}, name), {
          minLength: minItems,
          maxLength: Math.max(minItems, Math.min(maxItems, ITEMS_MAX)),
        });
      case 'object':
        return this.objectOf(schema);
      default:
        throw new Error(`no values of the type ${type} are known`);
    }
  }

  private objectOf(schema: Schema): Values {
    const { properties = {}, required = [], propertyNames, unevaluatedProperties } = schema;
    const { additionalProperties = unevaluatedProperties ?? true } = schema;
    const members = Object.entries(properties).map(([member, ofMember]): [string, Values] => [
      member,
      this.fitting(ofMember, member === 'id' ? idOf(schema) : member),
    ]);
    const own = this.members(members, required);
    if (additionalProperties === false) return own;
    const free = fc.dictionary(
      textFitting(propertyNames ?? { type: 'string', minLength: 1 }).map(String),
      additionalProperties === true ? plainJson : this.fitting(additionalProperties),
      { maxKeys: members.length === 0 ? 4 : 1 },
    );
    return fc.tuple(free, own).map(([further, described]) => ({ ...further, ...described }));
  }

  private breaksOfParameter({ name, in: place, required, schema }: Parameter): readonly Break[] {
    const path = [place === 'header' ? 'headers' : place, name];
    return [
      ...(required === true && place !== 'path' ? [left(path)] : []),
      ...this.breaksOf(schema, path),
    ];
  }

  private breaksOf(given: Schema, path: readonly string[]): readonly Break[] {
    const schema = this.whole(given);
    const { properties = {}, required = [], items, propertyNames, additionalProperties } = schema;
    const broken = (value: Values): Break => ({ path, value });
    const wrong = (values: readonly unknown[]): readonly Break[] =>
      values.length === 0 ? [] : [broken(fc.constantFrom(...values))];
    const branches = schema.oneOf ?? schema.anyOf ?? [];
    return [
      ...wrong(ofOtherTypes(schema)),
      ...beyondLimits(schema).flatMap(wrong),
      ...(schema.pattern === undefined ? [] : [broken(nearMiss(schema))]),
      ...((additionalProperties ?? schema.unevaluatedProperties) === false
        ? [{ path: [...path, 'x'], value: plainJson }]
        : []),
      ...(propertyNames === undefined
        ? []
        : [broken(nearMiss(propertyNames).map((name) => ({ [String(name)]: 'x' })))]),
      ...branches.flatMap((branch) => this.breaksOf(branch, path)),
      ...Object.entries(properties).flatMap(([member, ofMember]) => [
        ...(required.includes(member) ? [left([...path, member])] : []),
        ...this.breaksOf(ofMember, [...path, member]),
      ]),
      ...(items === undefined ? [] : this.breaksOf(items, [...path, '0'])),
      ...(typeof additionalProperties === 'object'
        ? this.breaksOf(additionalProperties, [...path, 'x'])
        : []),
    ];
  }
}

const isKept = (draw: number, index: number): boolean => ((draw >>> (index % 29)) & 3) === 0;

const joined = (one: Schema, other: Schema): Schema => ({
  ...one,
  ...other,
  ...((one.properties ?? other.properties) === undefined
    ? {}
    : {
        properties: Object.fromEntries(
          [...Object.entries(one.properties ?? {}), ...Object.entries(other.properties ?? {})].map(
            ([name, schema]) => [name, { ...one.properties?.[name], ...schema }],
          ),
        ),
      }),
  required: [...(one.required ?? []), ...(other.required ?? [])],
});

/** What an `id` names, by the members next to it. */
const idOf = ({ properties = {} }: Schema): string =>
  'email' in properties ? 'userId' : 'subscription' in properties ? 'accountId' : 'id';

const left = (path: readonly string[]): Break => ({ path, value: fc.constant(ABSENT) });

function fits(
  text: string,
  { pattern = '', minLength = 0, maxLength = Infinity }: Schema,
): boolean {
  const length = [...text].length;
  return length >= minLength && length <= maxLength && new RegExp(pattern, 'u').test(text);
}

const FORMATS: Readonly<Record<string, fc.Arbitrary<string>>> = {
  iri: fc.webUrl({ validSchemes: ['http', 'https'] }),
  date: fc.date({ noInvalidDate: true }).map((date) => date.toISOString().slice(0, 10)),
};

function textFitting(schema: Schema): Values {
  const { pattern, format = '', minLength = 0, maxLength = LENGTH_MAX } = schema;
  const ofFormat = FORMATS[format];
  if (ofFormat !== undefined) return ofFormat;
  const longest = maxLength > 5_000 ? [] : ['x', '😀'].map((one) => one.repeat(maxLength));
  const odd = [...TEXTS, ...longest].filter((text) => fits(text, schema));
  const free: Values =
    pattern === undefined
      ? fc
          .tuple(
            drawn,
            fc.string({
              unit: 'grapheme',
              minLength,
              maxLength: Math.min(maxLength, Math.max(minLength, LENGTH_MAX)),
            }),
          )
          .map(([draw, text]) => (maxLength < 100 ? text : new Slot('text', draw, text)))
      : textMatching(pattern).filter((text) => fits(text, schema));
  return odd.length === 0 ? free : mostly(free, fc.constantFrom(...odd));
}

const TEXTS_OF_PATTERNS = new Map<string, fc.Arbitrary<string>>();

/**
 * Made once for each pattern, which hundreds of members share: half of a fuzzer's time was spent
 * here. The one pattern that looks ahead, which fast-check cannot, is that of mail addresses.
 */
function textMatching(pattern: string): fc.Arbitrary<string> {
  const made =
    TEXTS_OF_PATTERNS.get(pattern) ??
    (pattern.includes('(?=') ? fc.emailAddress() : fc.stringMatching(new RegExp(pattern)));
  TEXTS_OF_PATTERNS.set(pattern, made);
  return made;
}

/** A text of the pattern with one change. */
const nearMiss = (schema: Schema): Values =>
  fc
    .tuple(
      textFitting(schema),
      fc.constantFrom('!', ' x', '\n', '\u00e9', '_', '-', '%', '~', '9'),
      fc.boolean(),
    )
    .map(([text, more, isAfter]) =>
      typeof text !== 'string' ? more : isAfter ? text + more : more + text,
    );

const OF_TYPES: readonly (readonly [string, unknown])[] = [
  ['null', null],
  ['boolean', true],
  ['number', 0.5],
  ['integer', 7],
  ['string', 'x'],
  ['string', '0x10'],
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

/** The values beyond each limit, and at it. */
function beyondLimits(schema: Schema): readonly (readonly unknown[])[] {
  const { minimum, maximum, minLength, maxLength, minItems, maxItems, maxProperties } = schema;
  const types = typesOf(schema);
  return [
    types.includes('string')
      ? ['a\u0000b', '\u007f', '\ud800', '\u202ex', '', 'x'.repeat(3000)]
      : [],
    schema.enum === undefined && !('const' in schema) ? [] : ['NONE', 'paid', '', ' PAID', 0],
    minLength === undefined || minLength === 0 ? [] : ['', 'x'.repeat(minLength - 1)],
    maxLength === undefined ? [] : ['x'.repeat(maxLength + 1), '\u00e9'.repeat(maxLength + 1)],
    types.includes('integer') ? [0.1, 2 ** 53, -(2 ** 63), 1e300] : [],
    minimum === undefined ? [] : [minimum - 1, -1, -0.1],
    maximum === undefined ? [] : [maximum + 1, 1e308],
    minItems === undefined ? [] : [[]],
    maxItems === undefined ? [] : [Array(maxItems + 1).fill('x'), Array(maxItems + 1).fill({})],
    maxProperties === undefined ? [] : [Object.fromEntries(numbered(maxProperties + 1))],
  ];
}

const numbered = (count: number): [string, number][] =>
  Array.from({ length: count }, (_, index) => [`f${index}`, index]);
