/** Editors of some systems begin a file with a mark of its byte order, which JSON does not have. */
export const withoutByteOrderMark = (text: string): string => text.replace(/^\uFEFF/, '');
