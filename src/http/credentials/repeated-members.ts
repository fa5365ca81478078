/**
 * Whether a JSON text names a member of an object twice. A parser keeps the last one, another
 * program's parser may keep the first: both must read a signed text the same way. `value` is the
 * parsed text.
 */
export function hasRepeatedMembers(text: string, value: unknown): boolean {
  return namesIn(text) !== membersOf(value);
}

/** Counts strings that are followed by a colon, in valid JSON. */
function namesIn(text: string): number {
  return (text.match(/"(?:[^"\\]|\\.)*"(\s*:)?/gs) ?? []).filter((piece) => piece.endsWith(':'))
    .length;
}

/** Counts the members of all objects, at any depth. */
function membersOf(root: unknown): number {
  const open: unknown[] = [root];
  let members = 0;
  while (open.length > 0) {
    const node = open.pop();
    if (typeof node !== 'object' || node === null) continue;
    if (!Array.isArray(node)) members += Object.keys(node).length;
    // Pushed one by one: an array of any length must not become an argument list.
    for (const child of Object.values(node)) open.push(child);
  }
  return members;
}
