/** For comparisons: NFC without case; Turkish İ and ı are `i`, ß is `ss`. */
export const foldedText = (text: string): string =>
  text
    .normalize('NFC')
    .toUpperCase()
    .toLowerCase()
    .replaceAll('i\u0307', 'i')
    .replaceAll('\u03C2', '\u03C3')
    .normalize('NFC');
