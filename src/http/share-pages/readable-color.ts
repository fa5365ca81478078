/** Black or white, whichever is read better on the colour: at least 4.5 to 1 on any. */
export const textOn = (color: string): '#000' | '#fff' =>
  contrast(luminance(color), 0) >= contrast(luminance(color), 1) ? '#000' : '#fff';

/** `#rgb` or `#rrggbb`. */
export const isHexColor = (text: string): boolean => /^#(?:[0-9a-f]{3}|[0-9a-f]{6})$/i.test(text);

/** Of WCAG 2: 1 to 21. */
export function contrast(one: number, other: number): number {
  const [dark, light] = one < other ? [one, other] : [other, one];
  return (light + 0.05) / (dark + 0.05);
}

/** Relative luminance by WCAG 2, from 0 for black to 1 for white. */
export function luminance(color: string): number {
  const hex = color.slice(1);
  const digits = hex.length === 3 ? [...hex].map((digit) => digit + digit) : hex.match(/../g);
  const [red = 0, green = 0, blue = 0] = (digits ?? []).map((two) => linear(parseInt(two, 16)));
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

function linear(channel: number): number {
  const share = channel / 255;
  return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
}
