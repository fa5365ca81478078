import type { Statement } from '../bookkeeping/statement.js';
import { printTable } from './command-line.js';

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
