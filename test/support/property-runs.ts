/**
 * How many runs a property has: `everyday` in the everyday suite, times `PROPERTY_FACTOR` where
 * a longer run is wanted.
 */
export const runs = (everyday: number): number =>
  everyday * Number(process.env['PROPERTY_FACTOR'] ?? 1);
