/** Ignores inherited members, such as `constructor`: the name comes from outside. */
export const ownMember = <T>(of: Readonly<Record<string, T>>, name: string): T | undefined =>
  Object.hasOwn(of, name) ? of[name] : undefined;
