const THOUSANDS = /\B(?=(?:\d{3})+$)/g;

/** `1234` as `1,234`. */
export const withThousands = (integer: string | number): string =>
  String(integer).replace(THOUSANDS, ',');
