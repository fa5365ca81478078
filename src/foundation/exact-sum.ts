/** A sum in JSON: beyond 2^53-1, which a number cannot represent exactly, a text of digits. */
export const exactSum = (sum: bigint): number | string =>
  sum > BigInt(Number.MAX_SAFE_INTEGER) ? String(sum) : Number(sum);
