/** A pattern of the integers from 0 to `max`, leading zeros included. */
export function digitsUpTo(max: number): string {
  const digits = String(max);
  const smaller = [...digits].flatMap((digit, index) =>
    digit === '0'
      ? []
      : [`${digits.slice(0, index)}[0-${Number(digit) - 1}]\\d{${digits.length - 1 - index}}`],
  );
  return `0*(?:\\d{1,${digits.length - 1}}|${[...smaller, digits].join('|')})`;
}
