import { moneyText } from '../../domain/money.js';
import {
  correctableAccount,
  type CorrectableAccount,
} from '../../operations/ledger/correctable-account.js';
import { previewOf } from '../../operations/ledger/correction-preview.js';
import { listProposals, type ListedProposal } from '../../operations/ledger/ledger-proposals.js';
import { NotDone } from '../../operations/outcome.js';
import type { TenantCall } from '../console-call.js';
import { accountPath } from '../pages/customer-columns.js';
import { queried, queryOf, type TenantPages } from '../pages/tenant-pages.js';
import { amountCell, idCell, stateCell, textCell, timeCell } from './cells.js';
import { hasRole } from './navigation.js';
import { partOf, tableState, tableView, type TableColumn } from './table.js';
import { amountText } from './templates.js';

const SHOWN_MAX = 1_000;
const TABLE = ['sort', 'dir', 'page', 'size'] as const;

const wordOf = (state: string): string => state.slice(0, 1).toUpperCase() + state.slice(1);

/** The proposals that an operator sees: finance all of them, support its own grants. */
export async function proposalsShown(pages: TenantPages, call: TenantCall) {
  const { ledger, operator, tenantPath } = call;
  const isFinance = hasRole(operator, ['finance']);
  const listed = await pages.recorded(call, 'ledger proposals', async (core) => {
    const selection = { limit: SHOWN_MAX, now: Date.now() };
    const result = await listProposals(core, ledger, selection);
    return { result, parameters: { limit: SHOWN_MAX } };
  });
  if (listed instanceof NotDone) throw new Error('proposals are never refused');
  const seen = listed.filter(({ proposedBy }) => isFinance || proposedBy === operator.name);
  const text = await amountsByAccount(pages, call, seen);
  const columns = columnsOf(call, text);
  const state = queried(call.query, ...TABLE);
  const order = tableState(state, columns, { sort: 'proposed', descending: true });
  const rows = seen.filter((one) => one.state !== 'waiting');
  const pathWith = (members: Readonly<Record<string, string>>): string =>
    `${tenantPath}/corrections${queryOf({ ...state, ...members })}`;
  const waiting = seen.filter((one) => one.state === 'waiting');
  return {
    rows,
    columns,
    waiting: await Promise.all(waiting.map((one) => waitingView(pages, call, { one, text }))),
    table: tableView(partOf(rows, columns, order), columns, order, {
      label: 'Decided corrections',
      empty: { text: 'Approved, rejected, withdrawn and lapsed corrections appear here.' },
      pathWith,
      filePath: pathWith({ format: 'csv', page: '', size: '' }),
    }),
  };
}

type AmountOf = (value: number, of: Pick<ListedProposal, 'account' | 'unit'>) => string;

/** Amounts in the currency of the account that each is of. */
async function amountsByAccount(
  { core }: TenantPages,
  { ledger }: TenantCall,
  listed: readonly ListedProposal[],
): Promise<AmountOf> {
  const formats = new Map<string | null, CorrectableAccount | undefined>();
  for (const id of new Set(listed.map(({ account }) => account)))
    if (id !== null) formats.set(id, await correctableAccount(core, ledger, id));
  return (value, { account, unit }) => {
    const format = formats.get(account)?.formatOf(unit);
    return amountText(value, unit, () => format && moneyText(format));
  };
}

/** A proposal that waits, with the balances on current figures. */
async function waitingView(
  pages: TenantPages,
  { ledger, operator, tenantPath }: TenantCall,
  { one: proposal, text: textOf }: { readonly one: ListedProposal; readonly text: AmountOf },
) {
  const { amount, account, grant } = proposal;
  const preview = await previewOf(pages.core, ledger, proposal);
  const text = (value: number): string => textOf(value, proposal);
  const isOwn = proposal.proposedBy === operator.name;
  const isFinance = hasRole(operator, ['finance']);
  return {
    ...proposal,
    text: text(amount),
    path: accountPath(tenantPath, account),
    kind: grant === null ? 'Correction' : 'Grant above the limit of support',
    isOwn,
    mayDecide: isFinance && !isOwn,
    reasonId: `reason-${proposal.id}`,
    preview:
      preview === null || preview instanceof NotDone
        ? null
        : { balance: preview.balance, before: text(preview.balance), after: text(preview.after) },
    refusal: preview instanceof NotDone ? preview.text() : null,
  };
}

const columnsOf = (
  { tenantPath }: TenantCall,
  text: AmountOf,
): readonly TableColumn<ListedProposal>[] => [
  { key: 'proposed', label: 'Proposed', cell: (row) => timeCell(row.proposedAt), isMinor: true },
  { key: 'by', label: 'By', cell: (row) => textCell(row.proposedBy), isMinor: true },
  {
    key: 'account',
    label: 'Account',
    cell: ({ account, reason }) =>
      textCell(account, { note: reason, path: accountPath(tenantPath, account) }),
  },
  { key: 'user', label: 'User', cell: ({ user }) => idCell(user), isMinor: true },
  {
    key: 'amount',
    label: 'Amount',
    cell: (row) => amountCell(row.amount, text(row.amount, row)),
  },
  { key: 'unit', label: 'Unit', cell: ({ unit }) => textCell(unit), isFileOnly: true },
  { key: 'reason', label: 'Reason', cell: ({ reason }) => textCell(reason), isFileOnly: true },
  { key: 'state', label: 'State', cell: ({ state }) => stateCell(wordOf(state)) },
  {
    key: 'endedBy',
    label: 'Ended by',
    cell: ({ endedBy, endReason }) => textCell(endedBy, { note: endReason }),
    isMinor: true,
  },
  { key: 'ended', label: 'Ended', cell: ({ endedAt }) => timeCell(endedAt), isMinor: true },
  {
    key: 'endReason',
    label: 'Reason of the end',
    cell: ({ endReason }) => textCell(endReason),
    isFileOnly: true,
  },
];
