import { entriesAfter, laterText } from '../../operations/ledger/later-entries.js';
import { monthEnd, periodChanges, type PeriodChange } from '../../operations/ledger/month-end.js';
import { close, daysOfMonth, reopen } from '../../operations/ledger/statement.operations.js';
import { each, statementOfTenant } from '../../operations/ledger/tenant-statement.js';
import { NotDone, outcomeOf } from '../../operations/outcome.js';
import { redirected, sendPage } from '../console-answers.js';
import { TenantCall } from '../console-call.js';
import { FormFor, PageFor, TenantPage } from '../console-routes.js';
import { stateCell, textCell, timeCell } from '../view/cells.js';
import { faultAt, faultsOf, type Faults } from '../view/faults.js';
import { rollForwardCells } from '../view/statement-view.js';
import { stateView } from '../view/states.js';
import { tablesOf } from '../view/page-tables.js';
import { column, type TableColumn } from '../view/table.js';
import { template } from '../view/templates.js';
import { monthField } from '../view/utc-fields.js';
import { queried, queryOf, TenantPages } from './tenant-pages.js';

const content = template('periods');

const ENTRIES_COLUMNS = (path: string): readonly TableColumn<PeriodChange>[] => [
  column('month', ({ period }) => textCell(period, { path: path + queryOf({ month: period }) })),
  column('state', ({ isClosed }) => stateCell(isClosed ? 'Closed' : 'Open')),
  column(['at', 'Since', 'minor'], ({ at }) => timeCell(at, true)),
  column(['by', 'Operator', 'minor'], ({ by }) => textCell(by ?? 'Forgotten')),
  column(['comment', 'Comment or reason'], ({ comment }) => textCell(comment)),
];

const hasMonth = (text: string): boolean => /^\d{4}-(?:0[1-9]|1[0-2])$/.test(text);

/** For finance: the end of a month, step by step, and the months that are closed. */
@TenantPage('periods')
export class ConsolePeriodsController {
  constructor(private readonly pages: TenantPages) {}

  @FormFor('finance')
  async change(@TenantCall() call: TenantCall): Promise<string> {
    const [period, comment] = [call.form.text('period'), call.form.text('comment')];
    const isClosing = call.form.text('action') !== 'reopen';
    const field = isClosing ? 'comment' : 'reason';
    if (comment === '' || comment.length > 1_000)
      return this.page(call, faultAt(field, `The ${field} takes 1 to 1,000 characters.`));
    if (isClosing && call.form.text('confirm') !== period)
      return this.page(
        call,
        faultAt('confirm', `Type ${period} to confirm that this month is closed.`),
      );
    const operation = isClosing ? close : reopen;
    const request = { ...call.scope, period, comment };
    const outcome = await this.pages.called(call, operation, request);
    if (outcome instanceof NotDone) return this.page(call, faultsOf(outcome, { period: field }));
    const path = `${call.tenantPath}/periods${queryOf({ month: period })}`;
    return redirected(call, path, isClosing ? 'closed' : 'reopened');
  }

  @PageFor('finance')
  async page(@TenantCall() call: TenantCall, faults?: Faults): Promise<string> {
    const { core } = this.pages;
    const asked = call.form.text('period') || queried(call.query, 'month').month;
    const now = await core.tenants.now(call.ledger);
    const changes = await periodChanges(core, call.ledger);
    const month = hasMonth(asked) ? asked : monthBefore(now);
    const last = changes.find(({ period }) => period === month);
    const path = `${call.tenantPath}/periods`;
    const { view } = tablesOf(call, path, { month })({
      label: 'Months',
      rows: changes,
      columns: ENTRIES_COLUMNS(path),
      order: '-at',
      empty: { text: 'A month appears here once it is closed.' },
      file: null,
    });
    const later = await outcomeOf(() => entriesAfter(core, call.ledger, month));
    const isOver = month < new Date(now).toISOString().slice(0, 7);
    return sendPage(
      call,
      { of: 'periods', headNote: 'Months and times are in UTC.', faults },
      content,
      {
        month: { ...monthField(month), max: monthBefore(now) },
        path,
        balancesPath: `${call.tenantPath}/balances${queryOf({ asOf: lastDayOf(month) })}`,
        isOver,
        isClosed: last?.isClosed ?? false,
        last: last && { ...last, by: last.by ?? 'a forgotten operator' },
        comment: call.form.text('comment'),
        confirmLabel: `Type "${month}" to confirm`,
        later: later instanceof NotDone ? undefined : laterText(later, 'month'),
        steps: isOver ? await this.steps(call, month, last) : [],
        totals: await this.totals(call, month, now),
        changes: view,
      },
    );
  }

  private async steps(call: TenantCall, month: string, last: PeriodChange | undefined) {
    const { tenantPath: path } = call;
    const done = await monthEnd(this.pages.core, call.ledger, month);
    const closed = last?.isClosed ? { by: last.by, at: last.at } : null;
    const step = (
      label: string,
      to: string,
      of: { readonly by: string | null; readonly at: number } | null,
    ) => ({
      label,
      path: path + to,
      by: of?.by ?? null,
      at: of?.at ?? null,
      ...stateView(of === null ? 'Open' : 'Done'),
    });
    const waiting = step('Approve or reject waiting corrections', '/corrections', null);
    const asIn = queryOf({ month });
    const lastDay = lastDayOf(month);
    return [
      step('Read the statement', `/statement${asIn}`, done.statement),
      step('Reconcile with your books', `/reconcile${asIn}`, done.reconcile),
      {
        ...waiting,
        ...stateView(done.waiting === 0 ? 'Done' : 'Waiting'),
        by: done.waiting === 0 ? null : `${done.waiting} waiting`,
      },
      step('Replay the ledger', `/replay${queryOf({ asOf: lastDay })}`, done.replay),
      step('Close the month', `/periods${asIn}#close`, closed),
      step('Download a digest and keep it outside', '/verify', done.digest),
    ];
  }

  /** Of each unit the opening, the movements and the closing. */
  private async totals({ ledger }: TenantCall, month: string, now: number) {
    const money = await this.pages.moneyOfAll(ledger);
    const statement = await outcomeOf(async () =>
      statementOfTenant(this.pages.core, ledger, daysOfMonth(month, now)),
    );
    if (statement instanceof NotDone) return [];
    return statement.result.units.map(({ unit, opening, closing, lines }) => {
      const sums = each((movement) => lines.reduce((sum, line) => sum + line[movement], 0));
      return { unit, cells: rollForwardCells({ unit, opening, closing, ...sums }, money) };
    });
  }
}

/** `2026-10-31` */
const lastDayOf = (month: string): string => {
  const [year = 0, number = 0] = month.split('-').map(Number);
  return new Date(Date.UTC(year, number, 0)).toISOString().slice(0, 10);
};

const monthBefore = (now: number): string => {
  const at = new Date(now);
  return new Date(Date.UTC(at.getUTCFullYear(), at.getUTCMonth(), 0)).toISOString().slice(0, 7);
};
