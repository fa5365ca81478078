import { createHash } from 'node:crypto';

const NAMESPACE = Buffer.from('6f1b0a3c5d2e4f7891a2b3c4d5e6f708', 'hex');

/** A UUID (version 5) that the same cause and step always give: a repeated command makes the same events. */
export function deterministicId(cause: string, step: string | number): string {
  const hash = createHash('sha1').update(NAMESPACE).update(`${cause}/${step}`).digest().subarray(0, 16);
  hash[6] = ((hash[6] ?? 0) & 0x0f) | 0x50;
  hash[8] = ((hash[8] ?? 0) & 0x3f) | 0x80;
  const hex = hash.toString('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}
