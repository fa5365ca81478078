import { resend, showMails, type ShownMail } from '../../operations/mails/mail.operations.js';
import { FormFor, PageFor, pageSent, redirected, TenantCall, TenantPage } from '../console-call.js';
import { TEXTS } from '../texts.js';
import { faultsOf, type Faults } from '../view/faults.js';
import { inOrder, type Column } from '../view/sorting.js';
import { template } from '../view/templates.js';
import { queried, queryOf, TenantPages } from './tenant-pages.js';
import { NotDone } from '../../operations/outcome.js';

const SHOWN_MAX = 100;
const COLUMNS: readonly Column<ShownMail>[] = [
  { label: TEXTS.common.created, key: 'created', value: 'created' },
  { label: TEXTS.common.type, key: 'type', value: 'type' },
  { label: TEXTS.common.state, key: 'state', value: 'state' },
  { label: TEXTS.common.attempts, key: 'attempts', isNumber: true, value: 'attempts' },
  { label: TEXTS.common.nextAttempt, key: 'next', value: 'nextAttemptAt' },
  { label: TEXTS.fields.reason, key: 'reason', value: 'reason' },
  { label: TEXTS.mails.mail },
  { label: TEXTS.common.resend },
];
const STATES = ['PENDING', 'DELIVERED', 'DEAD', 'UNKNOWN'] as const;

const content = template('mails');

/** For support: mails that were sent, wait, or failed. Nobody is named. */
@TenantPage('mails')
export class ConsoleMailsController {
  constructor(private readonly pages: TenantPages) {}

  @PageFor('support')
  page(@TenantCall() call: TenantCall): Promise<string> {
    return this.shown(call);
  }

  @FormFor('support')
  async resend(@TenantCall() call: TenantCall): Promise<string> {
    const id = call.form.text('mail');
    const outcome = await this.pages.called(call, resend, { ...call.scope, delivery: id });
    if (outcome instanceof NotDone) return this.shown(call, faultsOf(outcome));
    return redirected(call, `${call.tenantPath}/mails`, 'resent');
  }

  private async shown(call: TenantCall, faults?: Faults): Promise<string> {
    const { state: asked, ...order } = queried(call.query, 'state', 'sort', 'dir');
    const state = STATES.find((one) => one === asked);
    const mails = await showMails(this.pages.core, call.ledger, { state, limit: SHOWN_MAX });
    const { rows, heads } = inOrder(mails, COLUMNS, order, (sorted) =>
      queryOf({ state: asked, ...sorted }),
    );
    return pageSent(call, { of: 'mails', faults }, content, {
      heads,
      mails: rows.map((mail) => ({ ...mail, hasEnded: mail.state !== 'PENDING' })),
      state: state ?? '',
      states: STATES,
      isCut: mails.length === SHOWN_MAX,
    });
  }
}
