/**
 * Whether a JSON text names a member of some object twice. A parser keeps the last of them, another
 * program's parser may keep the first: what two of them read in one signed text must be the same.
 * `value` is what the text parses to.
 */
export function hasRepeatedMembers(text: string, value: unknown): boolean {
  return namesIn(text) !== membersOf(value);
}

/** Strings that a colon follows; the text is valid JSON. */
function namesIn(text: string): number {
  return (text.match(/"(?:[^"\\]|\\.)*"(\s*:)?/gs) ?? []).filter((piece) => piece.endsWith(':'))
    .length;
}

/** Members of all objects in it, however deep. */
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
