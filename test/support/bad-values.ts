export const BAD_IDS: readonly string[] = [
  'x'.repeat(256),
  'a\0b',
  'x'.repeat(2000),
  '\0',
  'a\nb',
  '\r',
  '\t',
  '\u007f',
  '\u0085',
  '😀'.repeat(256),
];
