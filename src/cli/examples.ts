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
  ['webhook list', ['webhook list acme']],
  [
    'webhook deliveries',
    [
      'webhook deliveries acme --state DEAD --since 2026-01-31',
      'webhook deliveries acme --limit 20',
    ],
  ],
  ['webhook show', ['webhook show acme 3f0c9a52-6d0e-5c1b-9d2a-0b7f4f1f6a11']],
  [
    'webhook resend',
    [
      'webhook resend acme 3f0c9a52-6d0e-5c1b-9d2a-0b7f4f1f6a11',
      'webhook resend acme --endpoint https://shop.example/hooks --since 2026-01-31',
    ],
  ],
  ['webhook enable', ['webhook enable acme --endpoint https://shop.example/hooks']],
  [
    'webhook rotate-secret',
    ['webhook rotate-secret acme --endpoint https://shop.example/hooks --grace 24h'],
  ],
  ['webhook rotate-signing-key', ['webhook rotate-signing-key --grace 7d']],
  ['webhook listen', ['webhook listen acme --mode test --forward-to http://127.0.0.1:4000/hooks']],
  [
    'export run',
    [
      'export run acme --type REWARD_BALANCE --out balances.csv',
      'export run acme --type USER --out -',
    ],
  ],
  ['export list', ['export list acme --json']],
  ['export cancel', ['export cancel acme 3f0c9a52-6d0e-5c1b-9d2a-0b7f4f1f6a11']],
  [
    'payment connect',
    [
      'payment connect acme --mode test --provider stripe --secret-key-file key.txt --webhook-secret-file secret.txt',
    ],
  ],
  ['payment show', ['payment show acme --account 42']],
  ['payment sync', ['payment sync acme --since 2026-01-31']],
  ['payment reconcile', ['payment reconcile acme --json']],
  ['payment disconnect', ['payment disconnect acme --mode test']],
]);

/** Text below the options of the help. */
export function examplesText(path: string): string {
  const examples = EXAMPLES.get(path) ?? [];
  if (examples.length === 0) return '';
  const lines = examples.map((example) => `  npm run --silent cli -- ${example}`);
  return `\n${lines.length === 1 ? 'Example' : 'Examples'}:\n${lines.join('\n')}`;
}
