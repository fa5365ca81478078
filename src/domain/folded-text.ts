/**
 * A text as it is compared with others: Unicode NFC, without case. The capital and the dotless I of
 * Turkish are an `i`, a sharp s is `ss`, a sigma is the same at the end of a word.
 */
export const foldedText = (text: string): string =>
  text
    .normalize('NFC')
    .toUpperCase()
    .toLowerCase()
    .replaceAll('i\u0307', 'i')
    .replaceAll('\u03C2', '\u03C3')
    .normalize('NFC');
