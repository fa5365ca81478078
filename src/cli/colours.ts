import { styleText } from 'node:util';

/** Text in a colour on a terminal; plain elsewhere, and with any value of NO_COLOR. */
export const coloured = (
  out: { readonly isTTY?: boolean },
  style: Parameters<typeof styleText>[0],
  text: string,
): string =>
  out.isTTY === true && process.env['NO_COLOR'] === undefined ? styleText(style, text) : text;
