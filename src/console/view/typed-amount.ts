import type { MoneyFormat } from '../../domain/money.js';

/** An amount of a field in the unit, or what is wrong with it. */
export type TypedAmount = { readonly amount: number } | { readonly problem: string };

/**
 * An amount as typed: of a unit with a format one of its currency, `12.50`, `12,50` or `125`, which
 * is 125.00; otherwise a whole number of the unit.
 */
export function typedAmount(typed: string, format: MoneyFormat | undefined): TypedAmount {
  const text = typed.replace('−', '-');
  const digits = format?.digits ?? 0;
  const readings = readingsOf(text, digits);
  if (readings !== undefined)
    return { problem: `${typed} can be ${readings.join(' or ')}. Type one of them.` };
  const [, sign = '', whole = '', part = ''] = /^([+-]?)(\d{1,16})(?:[.,](\d+))?$/.exec(text) ?? [];
  if (whole === '') return { problem: `Type an amount such as ${exampleOf(digits)}.` };
  if (part.length > digits)
    return {
      problem:
        digits === 0
          ? 'Type a whole number, such as 500 or -500.'
          : `${format?.currency} has ${digits} decimals: type an amount such as ${exampleOf(digits)}.`,
    };
  const amount = Number(`${sign === '-' ? '-' : ''}${whole}${part.padEnd(digits, '0')}`);
  if (!Number.isSafeInteger(amount)) return { problem: 'The amount is too large.' };
  return amount === 0 ? { problem: 'The amount must not be 0.' } : { amount };
}

const exampleOf = (digits: number): string =>
  digits === 0 ? '500' : `12.${'5'.padEnd(digits, '0')}`;

/** Both readings of a text with a separator of thousands; undefined: it has one reading. */
function readingsOf(text: string, digits: number): readonly [string, string] | undefined {
  const [, sign = '', head = '', tail = '', rest = ''] =
    /^([+-]?)(\d{1,3}(?:[.,]\d{3})*?)[.,](\d{3})((?:[.,]\d+)?)$/.exec(text) ?? [];
  if (head === '' || (digits === 3 && rest === '' && !/[.,]/.test(head))) return undefined;
  const whole = `${head}${tail}`.replace(/[.,]/g, '');
  const decimals = rest.slice(1).padEnd(digits, '0');
  const large = `${sign}${whole}${digits === 0 ? '' : `.${decimals}`}`;
  const small = `${sign}${head.replace(/[.,]/g, '')}.${tail}`;
  return [large, digits === 3 ? small : small.replace(/0$/, '')];
}
