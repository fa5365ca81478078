/**
 * What a compiler's settings can change about classes: the own members of a new instance, names,
 * and the types that decorators are told. Plain JavaScript: read by the tests and, beside what
 * ships, by a bare Node.
 */

const TYPES = ['design:type', 'design:paramtypes', 'design:returntype'];

/**
 * @param {Readonly<Record<string, unknown>>} exported @returns {Readonly<Record<string, unknown>>}
 * by class
 */
function describeClasses(exported) {
  const classes = Object.entries(exported).filter(([, value]) => isClass(value));
  return Object.fromEntries(
    classes
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, value]) => [name, describeClass(value)]),
  );
}

const isClass = (value) =>
  typeof value === 'function' && /^class\b/.test(Function.prototype.toString.call(value));

function describeClass(type) {
  const members = [...membersOf(type)];
  return {
    name: type.name,
    statics: Reflect.ownKeys(type).map(String).sort(),
    methods: Reflect.ownKeys(type.prototype).map(String),
    own: ownMembersOf(type),
    types: Object.fromEntries(
      [undefined, ...members]
        .flatMap((member) =>
          TYPES.map((key) => [`${member ?? 'new'} ${key}`, typesOf(type, member, key)]),
        )
        .filter(([, types]) => types !== undefined),
    ),
  };
}

/** Declared members are known by what decorators left behind: an instance need not have them. */
function membersOf(type) {
  const declared = [];
  for (
    let prototype = type.prototype;
    prototype !== null && prototype !== Object.prototype;
    prototype = Object.getPrototypeOf(prototype)
  ) {
    declared.push(...Reflect.ownKeys(prototype).filter((key) => typeof key === 'string'));
    const api = Reflect.getOwnMetadata?.('swagger/apiModelPropertiesArray', prototype) ?? [];
    declared.push(...api.map((member) => member.slice(1)));
  }
  return new Set(declared);
}

/** Of a class that can be made without arguments. */
function ownMembersOf(type) {
  if (type.length > 0) return undefined;
  try {
    const made = new type();
    return Reflect.ownKeys(made).map((key) => `${String(key)}: ${typeof made[key]}`);
  } catch {
    return undefined;
  }
}

/**
 * The classes among the types: by them a body finds its shape and a constructor its parts. Other
 * types are told differently by compilers that see a file at a time, and nothing reads them.
 */
function typesOf(type, member, key) {
  const types =
    member === undefined
      ? Reflect.getMetadata?.(key, type)
      : Reflect.getMetadata?.(key, type.prototype, member);
  const named = [types].flat().map((one) => (isClass(one) ? one.name : '-'));
  return named.every((name) => name === '-') ? undefined : named;
}

module.exports = { describeClasses };
