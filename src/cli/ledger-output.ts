import type { Statement } from '../bookkeeping/statement.js';
import { MOVEMENTS, type TenantStatement } from '../operations/ledger/tenant-statement.js';
import { note, printTable } from './command-line.js';

/** The ledger's figures as tables. */

export function printStatement({
  account,
  position,
  units,
  rewards = [],
  digest,
}: Statement): void {
  process.stdout.write(`account ${account}, position ${position ?? 'none'}\n`);
  if (units.length === 0) process.stdout.write('no credit\n');
  for (const { unit, opening, closing, lines } of units) {
    printTable(
      [
        unit,
        'recorded',
        'effective',
        'who',
        'reward',
        { amount: 'amount' },
        { amount: 'balance' },
        'event',
      ],
      [
        ['opening', '', '', '', '', '', String(opening), ''],
        ...lines.map(
          ({ type, recordedAt, effectiveAt, actor, rewardId, amount, balance, eventId }) => [
            type,
            recordedAt,
            effectiveAt,
            actor,
            rewardId,
            String(amount),
            String(balance),
            eventId,
          ],
        ),
        ['closing', '', '', '', '', '', String(closing), ''],
      ],
    );
  }
  if (rewards.length > 0)
    printTable(
      ['paid by the payment provider', 'reward', 'external reference'],
      rewards.map(({ rewardId, paidAt, externalReference }) => [
        paidAt,
        rewardId,
        externalReference ?? '',
      ]),
    );
  process.stdout.write(`digest ${digest}\n`);
}

export function printTenantStatement({
  tenant,
  from,
  to,
  units,
  tooLarge,
  digest,
}: TenantStatement): void {
  process.stdout.write(`${tenant}, ${from ?? 'since the first event'} to ${to}\n`);
  if (units.length === 0) process.stdout.write('no credit\n');
  const none = MOVEMENTS.map(() => '');
  for (const { unit, opening, closing, lines, due } of units)
    printTable(
      [unit, ...MOVEMENTS.map((amount) => ({ amount })), { amount: 'balance' }],
      [
        ['opening', ...none, String(opening)],
        ...lines.map((line) => [
          line.day,
          ...MOVEMENTS.map((movement) => String(line[movement])),
          String(line.balance),
        ]),
        ...(due === 0 ? [] : [['due', ...none, String(closing)]]),
        ['closing', ...none, String(closing)],
      ],
    );
  if (tooLarge.length > 0) note(`sums beyond 2^53, not shown: ${tooLarge.join(', ')}`);
  process.stdout.write(`digest ${digest}\n`);
}
