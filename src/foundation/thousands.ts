const THOUSANDS = /\B(?=(?:\d{3})+$)/g;

/** An integer with its thousands apart: `1,234`. */
export const withThousands = (integer: string | number): string =>
  String(integer).replace(THOUSANDS, ',');
