import type { Statement } from '../bookkeeping/statement.js';
import {
  MOVEMENTS,
  signedMovement,
  type TenantStatement,
} from '../operations/ledger/tenant-statement.js';
import { note, printTable } from './command-line.js';

/** The ledger's figures as tables. */

/** @param only the unit that was asked for; without it all of them. */
export function printStatement(
  { account, position, units, rewards = [], digest }: Statement,
  only: string | undefined,
): void {
  process.stdout.write(`account ${account}, position ${position ?? 'none'}\n`);
  if (units.length === 0) process.stdout.write(noCredit(only));
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

/** @param only the unit that was asked for; without it all of them. */
export function printTenantStatement(
  { tenant, from, to, units, tooLarge, digest }: TenantStatement,
  only: string | undefined,
): void {
  process.stdout.write(`${tenant}, ${from ?? 'since the first event'} to ${to}\n`);
  if (units.length === 0) process.stdout.write(noCredit(only));
  const none = MOVEMENTS.map(() => '');
  for (const { unit, opening, closing, lines, due } of units)
    printTable(
      [unit, ...MOVEMENTS.map((amount) => ({ amount })), { amount: 'balance' }],
      [
        ['opening', ...none, String(opening)],
        ...lines.map((line) => [
          line.day,
          ...MOVEMENTS.map((movement) => String(signedMovement(line, movement))),
          String(line.balance),
        ]),
        ...(due === 0 ? [] : [['due', ...none, String(closing)]]),
        ['closing', ...none, String(closing)],
      ],
    );
  if (tooLarge.length > 0) note(`sums beyond 2^53, not shown: ${tooLarge.join(', ')}`);
  process.stdout.write(`digest ${digest}\n`);
}

const noCredit = (only: string | undefined): string =>
  only === undefined ? 'no credit\n' : `no credit in ${only}; without --unit all units are shown\n`;
