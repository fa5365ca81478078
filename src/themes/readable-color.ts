import { BUILT_IN_THEME } from './built-in-theme.js';

/** Colours of an area and its text: `#rrggbb`. */
export interface ReadableColors {
  readonly background: string;
  readonly text: '#000000' | '#ffffff';
}

/**
 * A theme's colour with black or white text, whichever has more contrast: at least 4.5 to 1.
 * @param themeColor `#rgb` or `#rrggbb`; otherwise the built-in colour is used.
 */
export function readableColors(themeColor: string): ReadableColors {
  const background = sixDigits(themeColor) ?? BUILT_IN_THEME.page.color;
  const own = luminance(background);
  return { background, text: contrast(own, 0) >= contrast(own, 1) ? '#000000' : '#ffffff' };
}

/** Contrast of two luminances by WCAG 2: 1 to 21. */
export function contrast(one: number, other: number): number {
  const [dark, light] = one < other ? [one, other] : [other, one];
  return (light + 0.05) / (dark + 0.05);
}

/** Relative luminance of `#rrggbb` by WCAG 2: 0 (black) to 1 (white). */
export function luminance(color: string): number {
  const [red = 0, green = 0, blue = 0] = (color.slice(1).match(/../g) ?? []).map(linear);
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

function sixDigits(color: string): string | undefined {
  if (/^#[0-9a-f]{6}$/i.test(color)) return color;
  return /^#[0-9a-f]{3}$/i.test(color) ? color.replace(/[0-9a-f]/gi, '$&$&') : undefined;
}

function linear(channel: string): number {
  const share = Number.parseInt(channel, 16) / 255;
  return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
}
