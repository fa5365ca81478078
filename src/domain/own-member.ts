/**
 * A member of an object whose names come from outside. A plain read of `constructor` or
 * `__proto__` finds what every object inherits.
 */
export const ownMember = <T>(of: Readonly<Record<string, T>>, name: string): T | undefined =>
  Object.hasOwn(of, name) ? of[name] : undefined;
