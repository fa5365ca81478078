/** Runs of a property: `everyday` times `PROPERTY_FACTOR`. */
export const runs = (everyday: number): number =>
  everyday * Number(process.env['PROPERTY_FACTOR'] ?? 1);
