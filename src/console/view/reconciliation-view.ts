import type {
  Reconciliation,
  ReconciliationDifference,
} from '../../operations/ledger/ledger-reconciliation.js';
import type { Money } from '../../operations/registry/printing.js';
import { accountPath } from '../pages/customer-columns.js';
import { queryOf } from '../pages/tenant-pages.js';
import { amountCell, textCell } from './cells.js';
import { rollForwardCells } from './statement-view.js';
import { column, type TableColumn } from './table.js';
import { amountText } from './templates.js';

/** Of very many differences the first ones are kept. */
export interface KeptReconciliation extends Reconciliation {
  readonly cut?: { readonly differences: number };
}

type BalanceDifference = ReturnType<typeof balanceDifferences>[number];

/** Balances that the ledger and the file have differently. */
export const balanceDifferences = ({ differences }: Pick<KeptReconciliation, 'differences'>) =>
  differences
    .filter(({ kind }) => kind === 'balance')
    .map(({ account, unit, ledger, against }) => ({
      account: account ?? '',
      unit: unit ?? '',
      ledger: ledger ?? 0,
      /** Null: the file does not have it. */
      file: against,
      /** What the file has more than the ledger. */
      amount: (against ?? 0) - (ledger ?? 0),
    }));

interface ShownIn {
  readonly month: string;
  readonly file: string;
  readonly money: Money | undefined;
  readonly tenantPath: string;
}

/** What each check of the ledger found. */
const FINDINGS: Readonly<Record<string, string>> = {
  conversion:
    'A conversion earned a reward that was neither granted nor refused: see the parked reactions',
  'event-reward':
    'An event earned a reward that was neither granted nor refused: see the parked reactions',
  'roll-forward': 'Opening and movements do not make the closing',
  'trial-balance': 'Debits and credits differ',
  'too-large': 'The sums of this unit are too large to be shown',
};

/** A result of Reconcile for its page. */
export function shownReconciliation(result: KeptReconciliation, shownIn: ShownIn) {
  const { ok, units, differences, cut, compared } = result;
  const { month, file, tenantPath } = shownIn;
  const balances = balanceDifferences(result);
  const own = differences.filter(({ kind }) => kind !== 'balance');
  const differing =
    balances.length + (cut === undefined ? 0 : cut.differences - differences.length);
  return {
    ok,
    count: cut?.differences ?? differences.length,
    compared: compared ?? null,
    differing,
    of: [file, month === '' ? 'balances of now' : `balances at the end of ${month}`]
      .filter((part) => part !== '')
      .join(', '),
    isCut: cut !== undefined,
    findings: own.map(({ kind, account, unit, ledger, eventIds }: ReconciliationDifference) => ({
      words: FINDINGS[kind] ?? kind,
      account,
      path: account === 'anonymous' ? null : accountPath(tenantPath, account),
      unit,
      ledger,
      eventIds,
    })),
    units: units.map((one) => ({ ...one, lines: linesOf(one, shownIn.money) })),
  };
}

function linesOf(sums: Reconciliation['units'][number], money: Money | undefined) {
  const { unit, scheduled } = sums;
  const cell = amountCell(scheduled, amountText(scheduled, unit, money), `scheduled:${unit}`);
  return [...rollForwardCells(sums, money), { label: 'Pending, granted for later', cell }];
}

export const differenceColumns = ({
  money,
  tenantPath,
}: ShownIn): readonly TableColumn<BalanceDifference>[] => [
  column('account', ({ account }) => textCell(account, { path: accountPath(tenantPath, account) })),
  column(['unit', 'minor'], ({ unit }) => textCell(unit)),
  column('ledger', ({ ledger, unit }) =>
    amountCell(ledger, amountText(ledger, unit, money), 'difference.ledger'),
  ),
  column(['file', 'Your file'], ({ file, unit }) =>
    amountCell(file, amountText(file, unit, money), 'difference.file'),
  ),
  column('difference', ({ amount, unit }) =>
    amountCell(amount, amountText(amount, unit, money), 'difference.amount'),
  ),
  column(['correct', '', 'unsorted', 'page'], ({ account, unit }) =>
    textCell('Correct', { path: `${tenantPath}/corrections${queryOf({ account, unit })}` }),
  ),
];
