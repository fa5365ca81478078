import { join } from 'node:path';
import fc from 'fast-check';
import ts from 'typescript';
import type { AccountEvent } from '../../../src/domain/account/account.events.js';

/**
 * Well-typed events in any order, whether or not a rule of today would produce them: read from the
 * types of the events. Few ids, so that they concern each other.
 */

type Any = fc.Arbitrary<unknown>;

const SOURCE = join(__dirname, '../../../src/domain/account/account.events.ts');
const program = ts.createProgram([SOURCE], {
  strict: true,
  target: ts.ScriptTarget.ES2023,
  module: ts.ModuleKind.NodeNext,
  types: [],
  lib: ['lib.es5.d.ts'],
});
const checker = program.getTypeChecker();

const person = fc.constantFrom('p1', 'p2', 'p3');
const whole = fc.oneof(fc.nat(100), fc.constantFrom(0, Number.MAX_SAFE_INTEGER));
const text = fc.oneof(fc.string({ maxLength: 4 }), fc.constantFrom('__proto__', 'constructor', ''));
const rule = fc.constantFrom('referredReward', 'referrerReward', 'eventRewards/USER/visit');

/** Strings and numbers by the name of their member; of an item of a list, by that of the list. */
const STRINGS: readonly (readonly [RegExp, fc.Arbitrary<string>])[] = [
  [/^(person|persons|subject|account|customer|owners|holder)$/, person],
  [/^unit$/, fc.constantFrom('CENTS', 'cents', '')],
  [/^rule$/, rule],
  [/^lines$/, fc.constantFrom('rewardId1', 'rewardId2')],
];
const NUMBERS: readonly (readonly [RegExp, fc.Arbitrary<number>])[] = [
  [/^(at|date.*)$/, fc.integer()],
  [/(Days|Version|^push|^from|^total|^perDay)$/, fc.nat(3)],
  [/^lines$/, fc.oneof(fc.nat(2), whole)],
];
const byName = <T>(names: readonly (readonly [RegExp, T])[], name: string): T | undefined =>
  names.find(([pattern]) => pattern.test(name))?.[1];

function stringOf(name: string): Any {
  const isId = /^(idRef|batch|.+Ids?)$/.test(name);
  const id = name.replace(/s$/, '');
  return byName(STRINGS, name) ?? (isId ? fc.constantFrom(`${id}1`, `${id}2`) : text);
}

function anyOf(type: ts.Type, name: string): Any {
  // Their type names itself.
  if (name === 'fields') return fc.dictionary(text, fc.oneof(text, fc.double()), { maxKeys: 2 });
  if (type.isUnion()) {
    const parts = type.types.filter(({ flags }) => (flags & ts.TypeFlags.Undefined) === 0);
    return fc.oneof(
      ...parts.map((part) => ({
        weight: part.flags & ts.TypeFlags.Null ? 1 : 4,
        arbitrary: anyOf(part, name),
      })),
    );
  }
  if (type.isLiteral()) return fc.constant(type.value);
  if (type.flags & ts.TypeFlags.BooleanLiteral)
    return fc.constant(checker.typeToString(type) === 'true');
  if (type.flags & ts.TypeFlags.Null) return fc.constant(null);
  if (type.flags & ts.TypeFlags.String) return stringOf(name);
  if (type.flags & ts.TypeFlags.Number) return byName(NUMBERS, name) ?? whole;
  const items = checker.isArrayLikeType(type)
    ? checker.getTypeArguments(type as ts.TypeReference)
    : [];
  if (checker.isTupleType(type)) return fc.tuple(...items.map((item) => anyOf(item, name)));
  if (items[0]) return fc.array(anyOf(items[0], name), { maxLength: 2 });
  const index = checker.getIndexInfoOfType(type, ts.IndexKind.String);
  if (index) return fc.dictionary(text, anyOf(index.type, name), { maxKeys: 2 });
  if (!(type.flags & (ts.TypeFlags.Object | ts.TypeFlags.Intersection)))
    throw new Error(`${name}: nothing is known of ${checker.typeToString(type)}`);
  const members = checker.getPropertiesOfType(type);
  return fc.record(
    Object.fromEntries(
      members.map((member) => [member.name, anyOf(checker.getTypeOfSymbol(member), member.name)]),
    ),
    {
      requiredKeys: members.flatMap(({ name: key, flags }) =>
        flags & ts.SymbolFlags.Optional ? [] : [key],
      ),
    },
  );
}

const source = program.getSourceFile(SOURCE);
const events = source && checker.getSymbolAtLocation(source);
const exported = events && checker.getExportsOfModule(events);
const union = exported?.find(({ name }) => name === 'AccountEvent');
const types = union && checker.getDeclaredTypeOfSymbol(union);
if (!types?.isUnion()) throw new Error('the events of an account are not found');

const EVENTS = new Map(
  types.types.map((type) => {
    const name = checker.getTypeOfSymbol(checker.getPropertyOfType(type, 'type')!);
    if (!name.isStringLiteral()) throw new Error('an event has a type');
    return [name.value as AccountEvent['type'], anyOf(type, '') as fc.Arbitrary<AccountEvent>];
  }),
);

export const ACCOUNT_EVENT_TYPES = [...EVENTS.keys()];

export const anyEvents: fc.Arbitrary<readonly AccountEvent[]> = fc
  .tuple(
    fc.boolean(),
    EVENTS.get('AccountOpened')!,
    fc.array(fc.oneof(...EVENTS.values()), { maxLength: 60, size: 'max' }),
  )
  .map(([isOpen, opened, events]) => (isOpen ? [opened, ...events] : events));
