/**
 * Converts a parsed body to a request shape, which declares a reader per member; other members are
 * ignored. A general transformer walks the whole body: a megabyte of empty objects takes seconds.
 */

type Read = (value: unknown) => unknown;

export type Shape<T extends object = object> = new () => T;

const membersOf = new WeakMap<object, Map<string, Read>>();

/** Declares a member's reader; a missing member is read as undefined. */
export function Member(read: Read = (value) => value): PropertyDecorator {
  return (prototype, name) => {
    if (typeof name !== 'string') throw new TypeError('a member of a body has a name');
    const own = membersOf.get(prototype) ?? new Map<string, Read>();
    membersOf.set(prototype, own.set(name, read));
  };
}

/** Cached per shape, whose members are all declared before the first body arrives. */
const declared = new WeakMap<Shape, ReadonlyMap<string, Read>>();

function declaredMembers(shape: Shape): ReadonlyMap<string, Read> {
  const known = declared.get(shape);
  if (known !== undefined) return known;
  const found = findMembers(shape);
  declared.set(shape, found);
  return found;
}

/** Declared members, inherited ones first. */
function findMembers(shape: Shape): ReadonlyMap<string, Read> {
  const chain: object[] = [];
  for (
    let prototype: unknown = shape.prototype;
    typeof prototype === 'object' && prototype !== null;
    prototype = Object.getPrototypeOf(prototype)
  )
    chain.unshift(prototype);
  return new Map(chain.flatMap((prototype) => [...(membersOf.get(prototype) ?? [])]));
}

/**
 * Reads the declared members and omits those that are undefined. The class is not constructed:
 * whether a declared field becomes an own property is a compiler setting, and code that counts
 * members must not depend on it.
 */
export function readShape<T extends object>(
  shape: Shape<T>,
  body: Readonly<Record<string, unknown>>,
): T {
  const request = Object.create(shape.prototype as object) as T;
  for (const [name, read] of declaredMembers(shape)) {
    const value = read(Object.hasOwn(body, name) ? body[name] : undefined);
    if (value !== undefined)
      Object.defineProperty(request, name, {
        value,
        enumerable: true,
        configurable: true,
        writable: true,
      });
  }
  return request;
}

/** Names in the body that the shape does not declare. */
export function undeclaredMembers(
  shape: Shape,
  body: Readonly<Record<string, unknown>>,
): readonly string[] {
  const members = declaredMembers(shape);
  return Object.keys(body).filter((name) => !members.has(name));
}

export const isPlainObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
