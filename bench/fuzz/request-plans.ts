import { createHash } from 'node:crypto';
import fc from 'fast-check';
import type { Access, DescribedOperations, Draft, Operation } from './described-operations.js';
import { ABSENT, anyJson, SchemaArbitraries, type Break } from './schema-arbitraries.js';
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

/** Generates the same plans from the same seed. */
export class RequestPlans {
  private readonly arbitraries: SchemaArbitraries;
  private readonly plans = new Map<string, readonly fc.Arbitrary<RequestPlan>[]>();

  constructor(described: DescribedOperations) {
    this.arbitraries = new SchemaArbitraries(described);
    for (const operation of described.operations)
      this.plans.set(operation.key, this.plansOf(operation));
  }

  /**
   * Breaks one constraint after the other. @param from how many requests of the operation were
   * generated before.
   */
  generate({ key }: Operation, count: number, seed: number, from = 0): readonly RequestPlan[] {
    const plans = this.plans.get(key) ?? [];
    return Array.from({ length: count }, (_, index) => {
      const number = from + index;
      const ofRequest = createHash('sha256')
        .update(`${seed} ${key} ${number}`)
        .digest()
        .readInt32BE();
      const turn = plans[(number + seed) % plans.length];
      if (turn === undefined) throw new Error(`${key} is not described`);
      return fc.sample(turn, { seed: ofRequest, numRuns: 1 });
    }).flat();
  }

  /** As often valid as not; one in nine is wild. */
  private plansOf(operation: Operation): readonly fc.Arbitrary<RequestPlan>[] {
    const valid = this.valid(operation);
    const breaks = this.arbitraries.breaks(operation).map(({ path, value }: Break) =>
      fc.tuple(valid, value).map(([plan, broken]): RequestPlan => ({
        ...plan,
        kind: 'nearly',
        draft: changed(plan.draft, path, broken),
      })),
    );
    const wild = fc
      .tuple(valid, fc.array(this.wildness(operation), { minLength: 1, maxLength: 2 }))
      .map(([plan, steps]): RequestPlan => ({
        ...steps.reduce((changed, step) => step(changed), plan),
        kind: 'wild',
      }));
    // A run reads the whole ledger, and a deletion ends the past of what others are about.
    const isRare = operation.isRun || operation.method === 'DELETE';
    const broken = breaks.length === 0 ? [wild] : breaks;
    return broken.flatMap((one, index) => [
      ...(isRare && index % 3 > 0 ? [] : [valid]),
      one,
      ...(index % 4 === 0 ? [wild] : []),
    ]);
  }

  private valid(operation: Operation): fc.Arbitrary<RequestPlan> {
    const { parameters, body, needsBody, template } = operation;
    const placed = (place: string) => {
      const ofPlace = parameters.filter((parameter) => parameter.in === place);
      return this.arbitraries.members(
        ofPlace.map(({ name, schema }) => {
          const known = name === 'id' && template.includes('/credit/') ? 'creditId' : name;
          const values = this.arbitraries.fitting(schema, known);
          // A path without it is the path of another route.
          return [name, place === 'path' ? values.filter((value) => value !== '') : values];
        }),
        ofPlace.filter(({ required }) => required).map(({ name }) => name),
      );
    };
    const bodies = body === undefined ? [] : [this.arbitraries.fitting(body)];
    const draft = fc.record({
      path: placed('path'),
      query: placed('query'),
      headers: placed('header'),
      body: fc.oneof(
        ...bodies.map((arbitrary) => ({ arbitrary, weight: 5 })),
        ...(needsBody ? [] : [{ arbitrary: fc.constant(undefined), weight: 1 }]),
      ),
    });
    return fc.record({
      operation: fc.constant(operation),
      kind: fc.constant('valid' as const),
      draft,
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
