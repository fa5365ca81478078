import { createHash } from 'node:crypto';
import fc from 'fast-check';
import type { Access, DescribedOperations, Operation } from './described-operations.js';
import { inTarget, requiredInWords, sparse, wholeBody, type Values } from './known-values.js';
import { ABSENT, anyJson, SchemaArbitraries } from './schema-arbitraries.js';
import { drawn, RawText, Slot } from './slots.js';
import {
  mangling,
  wildHeaders,
  wildMethod,
  wildQuery,
  wildSegment,
  wildValue,
  type Mangling,
} from './wild-values.js';

/** Requests of an operation, with slots for what is known only when they are sent. */

/** Everything as described; one constraint broken; anything. */
export type RequestKind = 'valid' | 'nearly' | 'wild';

/** Members are placed by name; the body is JSON. */
export interface Draft {
  readonly path: Readonly<Record<string, unknown>>;
  readonly query: Readonly<Record<string, unknown>>;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly body?: unknown;
}

export type CredentialKind =
  | 'key'
  | 'read-token'
  | 'write-token'
  | 'visitor-token'
  | 'odd-token'
  | 'foreign-token'
  | 'foreign-key'
  | 'operator'
  | 'garbage'
  | 'none';

export interface Credentials {
  readonly kind: CredentialKind;
  readonly draw: number;
  /** Of an odd token. */
  readonly claims: unknown;
}

export interface RequestPlan {
  readonly operation: Operation;
  readonly kind: RequestKind;
  readonly draft: Draft;
  readonly credentials: Credentials;
  /** Decides the ledger, and the person whom it is about. */
  readonly draw: number;
  /** Names what belongs to another ledger. */
  readonly isForeign: boolean;
  /** Sent a second time as it is. */
  readonly isRepeated: boolean;
  readonly method?: string;
  readonly rawQuery?: string;
  readonly mangling?: { readonly mangle: Mangling; readonly draw: number };
}

type Wildness = (plan: RequestPlan) => RequestPlan;

const CREDENTIALS: Readonly<Record<Access, readonly (readonly [CredentialKind, number])[]>> = {
  anyone: [['none', 1]],
  key: [
    ['key', 40],
    ['none', 1],
    ['garbage', 1],
    ['foreign-key', 1],
    ['read-token', 1],
    ['operator', 1],
  ],
  user: [
    ['key', 16],
    ['write-token', 10],
    ['read-token', 6],
    ['visitor-token', 2],
    ['odd-token', 2],
    ['foreign-token', 1],
    ['foreign-key', 1],
    ['garbage', 1],
    ['none', 2],
  ],
  operator: [
    ['operator', 40],
    ['key', 1],
    ['garbage', 1],
    ['none', 1],
  ],
};

const credentialsFor = (access: Access): fc.Arbitrary<Credentials> =>
  fc.record({
    kind: fc.oneof(
      ...CREDENTIALS[access].map(([kind, weight]) => ({ arbitrary: fc.constant(kind), weight })),
    ),
    draw: drawn,
    claims: anyJson,
  });

const oneIn = (count: number): fc.Arbitrary<boolean> => drawn.map((draw) => draw % count === 0);

/** Whoever generates requests twice from one seed has the same plans. */
export class RequestPlans {
  private readonly arbitraries: SchemaArbitraries;
  private readonly plans: ReadonlyMap<string, fc.Arbitrary<RequestPlan>>;

  constructor(described: DescribedOperations) {
    this.arbitraries = new SchemaArbitraries(described);
    this.plans = new Map(
      described.operations.map((operation) => [operation.key, this.plansOf(operation)]),
    );
  }

  /** @param part the number of the part, if they are generated in parts. */
  generate({ key }: Operation, count: number, seed: number, part = 0): readonly RequestPlan[] {
    const plans = this.plans.get(key);
    if (plans === undefined) throw new Error(`${key} is not described`);
    const ofPart = createHash('sha256').update(`${seed} ${key} ${part}`).digest().readInt32BE();
    return fc.sample(plans, { seed: ofPart, numRuns: count });
  }

  private plansOf(operation: Operation): fc.Arbitrary<RequestPlan> {
    const valid = this.valid(operation);
    const breaks = this.arbitraries
      .breaks(operation)
      .map(({ path, value }) => value.map((found) => ({ path, value: found })));
    const nearly = fc
      .tuple(valid, fc.oneof(...breaks, fc.constant({ path: ['headers', 'x'], value: 'y' })))
      .map(([plan, broken]): RequestPlan => ({
        ...plan,
        kind: 'nearly',
        draft: changed(plan.draft, broken.path, broken.value),
      }));
    const wild = fc
      .tuple(valid, fc.array(this.wildness(operation), { minLength: 1, maxLength: 2 }))
      .map(([plan, steps]): RequestPlan => ({
        ...steps.reduce((changed, step) => step(changed), plan),
        kind: 'wild',
      }));
    // A run reads the whole ledger, and a deletion ends the past of what others are about.
    const isRare = operation.isRun || operation.method === 'DELETE';
    return fc.oneof(
      { arbitrary: valid, weight: isRare ? 1 : 6 },
      { arbitrary: nearly, weight: 5 },
      { arbitrary: wild, weight: 4 },
    );
  }

  private valid(operation: Operation): fc.Arbitrary<RequestPlan> {
    const { parameters, body, template } = operation;
    const placed = (place: string): Values => {
      const ofPlace = parameters.filter((parameter) => parameter.in === place);
      const values = ofPlace.map(({ name, schema }): [string, Values] => [
        name,
        inTarget(template, name) ?? this.arbitraries.fitting(schema),
      ]);
      const required = ofPlace.filter((parameter) => parameter.required).map(({ name }) => name);
      return sparse(Object.fromEntries(values), [...required, ...requiredInWords(template)]);
    };
    const draft = fc.record({
      path: placed('path'),
      query: placed('query'),
      headers: placed('header'),
      ...(body === undefined
        ? {}
        : { body: wholeBody(operation.key) ?? this.arbitraries.fitting(body) }),
    });
    return fc.record({
      operation: fc.constant(operation),
      kind: fc.constant('valid' as const),
      draft: draft as fc.Arbitrary<Draft>,
      credentials: credentialsFor(operation.access),
      draw: drawn,
      isForeign: oneIn(12),
      isRepeated: oneIn(10),
    });
  }

  private wildness({ parameters }: Operation): fc.Arbitrary<Wildness> {
    const paths = parameters.map(({ name, in: place }) => [
      place === 'header' ? 'headers' : place,
      name,
    ]);
    const places = fc.oneof(fc.constant(['body']), fc.constantFrom(...paths, ['body']));
    const member = fc.tuple(places, drawn, wildValue);
    const segments = paths.filter(([place]) => place === 'path');
    const steps: fc.Arbitrary<Wildness>[] = [
      // Any member of the body, or a parameter.
      member.map(([path, draw, value]): Wildness => {
        return (plan) => {
          const deeper = path[0] === 'body' ? placeIn(plan.draft.body, draw) : [];
          return { ...plan, draft: changed(plan.draft, [...path, ...deeper], value) };
        };
      }),
      fc.tuple(mangling, drawn).map(([mangle, draw]): Wildness => {
        return (plan) => ({ ...plan, mangling: { mangle, draw } });
      }),
      wildHeaders.map((headers): Wildness => {
        return ({ draft, ...plan }) => ({
          ...plan,
          draft: { ...draft, headers: { ...draft.headers, ...headers } },
        });
      }),
      wildQuery.map((rawQuery): Wildness => (plan) => ({ ...plan, rawQuery })),
      wildMethod.map((method): Wildness => (plan) => ({ ...plan, method })),
    ];
    if (segments.length > 0)
      steps.push(
        fc.tuple(fc.constantFrom(...segments), wildSegment).map(([path, value]): Wildness => {
          return (plan) => ({ ...plan, draft: changed(plan.draft, path, value) });
        }),
      );
    return fc.oneof(...steps);
  }
}

const changed = (draft: Draft, path: readonly string[], value: unknown): Draft =>
  withValue(draft, path, value) as Draft;

/** A copy with another value at a place, or without it. Without the place nothing is changed. */
function withValue(whole: unknown, [name, ...rest]: readonly string[], value: unknown): unknown {
  if (name === undefined) return value;
  if (Array.isArray(whole))
    return whole.map((item: unknown, index) =>
      String(index) === name ? withValue(item, rest, value) : item,
    );
  if (!hasMembers(whole)) return whole;
  const members = new Map<string, unknown>(Object.entries(whole));
  if (rest.length === 0 && value === ABSENT) members.delete(name);
  else if (rest.length === 0 || members.has(name))
    members.set(name, withValue(members.get(name), rest, value));
  const copy: unknown = Object.fromEntries(members);
  return copy;
}

/** A place of a body that the draw decides; empty: the body itself. */
function placeIn(body: unknown, draw: number): readonly string[] {
  if (!hasMembers(body)) return [];
  const names = Object.keys(body);
  const name = names[draw % (names.length + 1)];
  if (name === undefined) return [];
  return [name, ...placeIn(Reflect.get(body, name), Math.floor(draw / (names.length + 1)))];
}

const hasMembers = (value: unknown): value is object =>
  typeof value === 'object' &&
  value !== null &&
  !(value instanceof Slot) &&
  !(value instanceof RawText);
