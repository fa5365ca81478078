/**
 * How many runs a property has: `everyday` in the everyday suite, times `PROPERTY_FACTOR` where
 * somebody looks for longer.
 */
export const runs = (everyday: number): number =>
  everyday * Number(process.env['PROPERTY_FACTOR'] ?? 1);
