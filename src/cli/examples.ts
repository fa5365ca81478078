/**
 * Examples of the commands, for their `--help`: the words after the program's name. A test walks
 * all commands.
 */
export const EXAMPLES: ReadonlyMap<string, readonly string[]> = new Map([
  [
    'ledger statement',
    [
      'ledger statement acme 42 --unit CENTS',
      'ledger statement acme 42 --from 2026-01-01 --to 2026-01-31 --format csv',
    ],
  ],
  [
    'ledger tenant-statement',
    ['ledger tenant-statement acme --from 2026-01-01 --to 2026-01-31 --format csv'],
  ],
  ['ledger close', ['ledger close acme --period 2026-01 --comment "agreed with finance"']],
  ['ledger reopen', ['ledger reopen acme --period 2026-01 --comment "a late correction"']],
  [
    'ledger adjust',
    [
      'ledger adjust acme 42 --user 7 --unit CENTS --amount -500 --reason "ticket 4711" --approved-by sam',
    ],
  ],
  ['ledger export', ['ledger export acme --from 2026-01-01 > acme.jsonl']],
  [
    'ledger propose',
    ['ledger propose acme 42 --user 7 --unit CENTS --amount 500 --reason "ticket 4711"'],
  ],
  [
    'ledger approve',
    ['ledger approve acme.live.20260131.9f2c4b7e1d0a4c558e6f3b2a1c0d9e8f --by sam'],
  ],
  ['ledger proposals', ['ledger proposals acme --json']],
  [
    'ledger replay',
    [
      'ledger replay acme',
      'ledger replay acme --mode test --json > drift.json',
      'ledger replay acme --account 42 --as-of 2026-01-31',
    ],
  ],
  [
    'ledger reconcile',
    ['ledger reconcile acme --period 2026-01', 'ledger reconcile acme --against balances.csv'],
  ],
  ['ledger digest', ['ledger digest acme --sign --json > digest.json']],
  ['ledger verify', ['ledger verify acme --digest digest.json']],
  ['ledger acknowledge-loss', ['ledger acknowledge-loss --reason "restored from the backup"']],
]);

/** Text below the options of the help. */
export function examplesText(path: string): string {
  const examples = EXAMPLES.get(path) ?? [];
  if (examples.length === 0) return '';
  const lines = examples.map((example) => `  npm run --silent cli -- ${example}`);
  return `\n${lines.length === 1 ? 'Example' : 'Examples'}:\n${lines.join('\n')}`;
}
