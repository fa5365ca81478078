/** Accepted texts that are as slow as the limits allow. */
export const SLOWEST: readonly string[] = [
  ...[
    '.*a',
    '._a',
    '.**a',
    '_a*',
    '*a',
    '[',
    '![',
    '<',
    '`a``',
    '~~a',
    '&',
    '[a](',
    '[a][',
    '\\',
    '**a *',
  ].map((text) => manyMarks(text)),
  '- \n'.repeat(130),
  '-\n'.repeat(130),
  '|a|b\n'.repeat(200),
  '> > > > > a\n'.repeat(25),
  '- - - - - - a\n'.repeat(25),
  'a '.repeat(9_999),
  `x${' '.repeat(19_998)}x`,
  '1. '.repeat(6) + 'a '.repeat(9_000),
  '{{code}}'.repeat(100),
  `{{#each user}}${'{{this}}'.repeat(98)}{{/each}}`,
  `{{#each user}}\n${'*a* '.repeat(24)}{{/each}}`,
  '{{code}}- - - - - - a\n'.repeat(3),
  '\t'.repeat(6) + 'x '.repeat(9_000),
  `${'*a '.repeat(98)}a*`,
  '_a_ '.repeat(49),
  `${'a_'.repeat(49)} `.repeat(2),
  '<b> '.repeat(245),
  '<table><tr><td> '.repeat(80),
  '# '.repeat(490),
  '#\n'.repeat(250),
  '<!-- '.repeat(240),
  'a  \n'.repeat(298),
  '- a\n\n\n  '.repeat(95),
  Array.from({ length: 24 }, (_, at) => `${' '.repeat(at)}- a`)
    .join('\n')
    .concat('\n')
    .repeat(5),
  `${'www.a.'.repeat(60)} `.repeat(4),
  'a@b.co '.repeat(160),
  `${'a.'.repeat(499)} `.repeat(20),
  `${'(http://a'.repeat(80)} `.repeat(2),
  `${manyMarks('.*a')} ${'`a`` '.repeat(125)}`,
  `${manyMarks('.*a')} ${'[ '.repeat(380)}`,
  `${'x'.repeat(998)}@ `,
  `${'x.'.repeat(98)}@a `.repeat(25),
];

/** As often as the limits on marks allow, in words. */
function manyMarks(text: string): string {
  const marks = text.match(/[[\]*_~`<>&|\\"#(!@]/g)?.length ?? 1;
  const emphasis = text.match(/[*_~]/g)?.length ?? 0;
  const times = Math.min(490 / marks, emphasis > 0 ? 98 / emphasis : Infinity);
  return text.repeat(Math.floor(times)).replace(/.{900}/g, '$& ');
}

/** The least of some runs: what else happens on the machine counts for nothing. */
export function leastCpuMs(work: () => unknown, times = 5): number {
  const runs = Array.from({ length: times }, () => {
    const before = process.cpuUsage();
    work();
    const { user, system } = process.cpuUsage(before);
    return (user + system) / 1000;
  });
  return Math.max(0.1, Math.min(...runs));
}
