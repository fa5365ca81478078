/** A sum for JSON: a number up to 2^53-1, and above it a string of digits. */
export const exactSum = (sum: bigint): number | string =>
  sum > BigInt(Number.MAX_SAFE_INTEGER) ? String(sum) : Number(sum);
