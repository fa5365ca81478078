/** A JSON object. */
export type Members = Readonly<Record<string, unknown>>;

export const isMembers = (value: unknown): value is Members =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/**
 * Merges objects member by member; other values, including arrays, come from the first layer that
 * has them. @param layers highest precedence first.
 */
export function mergeMembers(...layers: readonly Members[]): Members {
  return layers.reduceRight<Members>((under, over) => mergedOver(under, over), {});
}

function mergedOver(under: Members, over: Members): Members {
  const merged = new Map(Object.entries(under));
  for (const [name, value] of Object.entries(over)) {
    const before = merged.get(name);
    merged.set(name, isMembers(value) && isMembers(before) ? mergedOver(before, value) : value);
  }
  return Object.fromEntries(merged);
}

/** JSON merge patch (RFC 7396): null removes a member. */
export function mergePatch(target: Members, patch: Members): Members {
  const patched = new Map(Object.entries(target));
  for (const [name, value] of Object.entries(patch)) {
    const before = patched.get(name);
    if (value === null) patched.delete(name);
    else if (isMembers(value))
      patched.set(name, mergePatch(isMembers(before) ? before : {}, value));
    else patched.set(name, value);
  }
  return Object.fromEntries(patched);
}
