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

const content = template(`
<form class="fields" method="get">
{{formField 'state' label="${TEXTS.common.state}" value=state none="${TEXTS.common.all}" options=states}}
<button class="quiet">${TEXTS.common.filter}</button>
</form>
{{#if mails.length}}<div class="scroll" tabindex="0"><table>
<thead>{{> heads}}</thead>
<tbody>{{#each mails}}<tr><td>{{time created}}</td><td>{{type}}</td><td>{{state}}</td><td class="number">{{amount attempts}}</td><td>{{time nextAttemptAt}}</td><td>{{reason}}</td><td class="id">{{id}}</td><td>{{#if hasEnded}}<form method="post">{{> csrf}}<input type="hidden" name="mail" value="{{id}}"><button class="quiet">${TEXTS.common.resend}</button></form>{{/if}}</td></tr>
{{/each}}</tbody></table></div>{{#if isCut}}<p class="note">${TEXTS.common.newest(SHOWN_MAX)}</p>{{/if}}
{{else}}<p class="empty">${TEXTS.mails.empty}</p>{{/if}}`);

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
