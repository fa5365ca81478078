import { entriesAfter, laterText } from '../../operations/ledger/later-entries.js';
import { closedPeriods, type ClosedPeriod } from '../../operations/ledger/ledger-periods.js';
import { close, reopen } from '../../operations/ledger/statement.operations.js';
import { FormFor, PageFor, pageSent, redirected, TenantCall, TenantPage } from '../console-call.js';
import { TEXTS } from '../texts.js';
import { faultAt, faultsOf, type Faults } from '../view/faults.js';
import { inOrder, type Column } from '../view/sorting.js';
import { template } from '../view/templates.js';
import { queried, queryOf, TenantPages } from './tenant-pages.js';
import { NotDone } from '../../operations/outcome.js';

/** As typed: into the form that closes a month, or into that of a closed one. */
const typedIn = ({ form }: TenantCall) => ({
  period: form.text('period'),
  comment: form.text('comment'),
  isClosing: form.text('action') !== 'reopen',
});

const commentIdOf = (period: string): string => `comment-${period}`;

const shownPeriod = (closed: ClosedPeriod, typed: ReturnType<typeof typedIn>) => ({
  ...closed,
  commentId: commentIdOf(closed.period),
  commentLabel: TEXTS.periods.reasonFor(closed.period),
  reason: !typed.isClosing && typed.period === closed.period ? typed.comment : '',
});

type ShownPeriod = ReturnType<typeof shownPeriod>;

const COLUMNS: readonly Column<ShownPeriod>[] = [
  { label: TEXTS.fields.period, key: 'month', value: 'period' },
  { label: TEXTS.periods.closed, key: 'closed', value: 'closedAt' },
  { label: TEXTS.common.who, key: 'who', value: 'by' },
  { label: TEXTS.periods.comment, key: 'comment', value: 'comment' },
  { label: TEXTS.periods.reopen },
];

const content = template('periods');

/** For finance: closed months. */
@TenantPage('periods')
export class ConsolePeriodsController {
  constructor(private readonly pages: TenantPages) {}

  @PageFor('finance')
  page(@TenantCall() call: TenantCall): Promise<string> {
    return this.shown(call);
  }

  @FormFor('finance')
  async change(@TenantCall() call: TenantCall): Promise<string> {
    const { isClosing, ...given } = typedIn(call);
    const comment = isClosing ? 'comment' : commentIdOf(given.period);
    if (given.comment === '' || given.comment.length > 1_000)
      return this.shown(call, faultAt(comment, TEXTS.periods.commentLength));
    const operation = isClosing ? close : reopen;
    const outcome = await this.pages.called(call, operation, { ...call.scope, ...given });
    if (outcome instanceof NotDone)
      return this.shown(call, faultsOf(outcome, isClosing ? {} : { period: comment }));
    const page = `${call.tenantPath}/periods`;
    if (!isClosing) return redirected(call, page, 'reopened');
    const later = await entriesAfter(this.pages.core, call.ledger, given.period);
    return redirected(call, later === 0 ? page : `${page}?later=${later}`, 'closed');
  }

  private async shown(call: TenantCall, faults?: Faults): Promise<string> {
    const { later, ...order } = queried(call.query, 'sort', 'dir', 'later');
    const typed = typedIn(call);
    const closed = await closedPeriods(this.pages.core, call.ledger);
    const rows = closed.map((one) => shownPeriod(one, typed));
    return pageSent(call, { of: 'periods', faults }, content, {
      typed: typed.isClosing ? typed : { period: '', comment: '' },
      later: /^[1-9]\d{0,14}$/.test(later) ? laterText(Number(later), 'month') : undefined,
      ...inOrder(rows, COLUMNS, order, queryOf),
    });
  }
}
