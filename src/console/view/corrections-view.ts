import { unitKey } from '../../domain/units.js';
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
import type { TenantPages } from '../pages/tenant-pages.js';
import { amountCell, idCell, stateCell, textCell, timeCell } from './cells.js';
import { faultsOfCorrection } from './faults.js';
import { hasRole } from './navigation.js';
import { tablesOf } from './page-tables.js';
import { column, type TableColumn } from './table.js';
import { amountText, capital } from './templates.js';

const SHOWN_MAX = 1_000;

/** The proposals that an operator sees: finance all of them, support its own grants. */
export async function proposalsShown(pages: TenantPages, call: TenantCall) {
  const { ledger, operator, scope, tenantPath } = call;
  const isFinance = hasRole(operator, ['finance']);
  const listed = await pages.recorded(call, 'ledger proposals', async (core) => {
    const selection = { limit: SHOWN_MAX, now: Date.now() };
    const result = await listProposals(core, ledger, selection);
    return { result, parameters: { limit: SHOWN_MAX } };
  });
  if (listed instanceof NotDone) throw new Error('proposals are never refused');
  const seen = listed.filter(({ proposedBy }) => isFinance || proposedBy === operator.name);
  const accounts = await accountsOf(pages, call, seen);
  const text = amountsIn(accounts);
  const person = personsIn(accounts);
  const waiting = seen.filter((one) => one.state === 'waiting');
  const { view: table, file } = tablesOf(
    call,
    `${tenantPath}/corrections`,
  )({
    label: 'Decided corrections',
    rows: seen.filter((one) => one.state !== 'waiting'),
    columns: columnsOf(call, text, person),
    order: '-proposed',
    empty: { text: 'Approved, rejected, withdrawn and lapsed corrections appear here.' },
    file: `corrections-${scope.tenant}-${scope.mode}`,
  });
  const views = waiting.map((one) =>
    waitingView(pages, call, {
      one,
      text,
      person,
      same: waiting.filter((other) => isSame(one, other)),
    }),
  );
  return { waiting: await Promise.all(views), table, file };
}

type AmountOf = (value: number, of: Pick<ListedProposal, 'account' | 'unit'>) => string;

type PersonOf = (of: Pick<ListedProposal, 'account' | 'user'>) => string;
type Accounts = ReadonlyMap<string | null, CorrectableAccount | undefined>;

async function accountsOf(
  { core }: TenantPages,
  { ledger }: TenantCall,
  listed: readonly ListedProposal[],
): Promise<Accounts> {
  const accounts = new Map<string, CorrectableAccount | undefined>();
  for (const id of new Set(listed.map(({ account }) => account)))
    if (id !== null) accounts.set(id, await correctableAccount(core, ledger, id));
  return accounts;
}

/** Amounts in the currency of the account that each is of. */
const amountsIn =
  (accounts: Accounts): AmountOf =>
  (value, { account, unit }) => {
    const format = accounts.get(account)?.formatOf(unit);
    return amountText(value, unit, () => format && moneyText(format));
  };

/** The name of the user, or the id of one without a name. */
const personsIn =
  (accounts: Accounts): PersonOf =>
  ({ account, user }) =>
    (accounts.get(account)?.users.find(({ id }) => id === user)?.name || user) ?? 'Forgotten';

/** Of one balance. Forgotten accounts have no id, and are never the same. */
const isSame = (one: ListedProposal, { account, unit }: ListedProposal): boolean =>
  account !== null && one.account === account && unitKey(one.unit) === unitKey(unit);

/**
 * A proposal that waits, with the balances on current figures.
 * @param same those that wait for the same balance, this one included; none of a forgotten account.
 */
async function waitingView(
  pages: TenantPages,
  { ledger, operator, tenantPath }: TenantCall,
  of: {
    readonly one: ListedProposal;
    readonly text: AmountOf;
    readonly person: PersonOf;
    readonly same: readonly ListedProposal[];
  },
) {
  const { one: proposal, text: textOf, person, same } = of;
  const { amount, account, grant } = proposal;
  const preview = await previewOf(pages.core, ledger, proposal);
  const text = (value: number): string => textOf(value, proposal);
  const isOwn = proposal.proposedBy === operator.name;
  const isFinance = hasRole(operator, ['finance']);
  return {
    ...proposal,
    text: text(amount),
    person: person(proposal),
    /** Null: no other proposal waits for the balance. */
    together:
      same.length <= 1
        ? null
        : { count: same.length, text: text(same.reduce((sum, other) => sum + other.amount, 0)) },
    path: accountPath(tenantPath, account),
    kind: grant === null ? 'Correction' : 'Grant above the limit of support',
    isOwn,
    mayDecide: isFinance && !isOwn,
    reasonId: `reason-${proposal.id}`,
    preview:
      preview === null || preview instanceof NotDone
        ? null
        : { balance: preview.balance, before: text(preview.balance), after: text(preview.after) },
    refusal:
      preview instanceof NotDone ? faultsOfCorrection(preview, text).problems.join('; ') : null,
  };
}

const columnsOf = (
  { tenantPath }: TenantCall,
  text: AmountOf,
  person: PersonOf,
): readonly TableColumn<ListedProposal>[] => [
  column(['proposed', 'minor'], (row) => timeCell(row.proposedAt)),
  column(['by', 'minor'], (row) => textCell(row.proposedBy)),
  column('person', (row) =>
    textCell(person(row), { note: row.reason, path: accountPath(tenantPath, row.account) }),
  ),
  column(['account', 'minor'], ({ account }) => idCell(account)),
  column(['user', 'minor'], ({ user }) => idCell(user)),
  column('amount', (row) => amountCell(row.amount, text(row.amount, row))),
  column(['unit', 'file'], ({ unit }) => textCell(unit)),
  column(['reason', 'file'], ({ reason }) => textCell(reason)),
  column('state', ({ state }) => stateCell(capital(state))),
  column(['endedBy', 'minor'], ({ endedBy, endReason }) => textCell(endedBy, { note: endReason })),
  column(['ended', 'minor'], ({ endedAt }) => timeCell(endedAt)),
  column(['endReason', 'Reason of the end', 'file'], ({ endReason }) => textCell(endReason)),
];
