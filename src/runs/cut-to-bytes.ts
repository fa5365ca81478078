/**
 * Limits a document to `bytesMax` of JSON: drops the last differences, with their total number in
 * `cut`. Null: it is too long even without differences.
 */
export function cutToBytes(document: unknown, bytesMax: number): unknown {
  if (sizeOf(document) <= bytesMax || typeof document !== 'object' || document === null)
    return document;
  const { differences, ...others } = document as { differences?: unknown };
  const count = Array.isArray(differences) ? differences.length : 0;
  const frame = { ...others, differences: [], cut: { differences: count } };
  let left = bytesMax - sizeOf(frame);
  if (left < 0 || !Array.isArray(differences)) return null;
  const kept: unknown[] = [];
  for (const difference of differences as unknown[]) {
    left -= sizeOf(difference) + 1;
    if (left < 0) break;
    kept.push(difference);
  }
  return { ...frame, differences: kept };
}

const sizeOf = (value: unknown): number => Buffer.byteLength(JSON.stringify(value) ?? '');
