import { randomUUID } from 'node:crypto';
import type { ReferralListRow, ReferralSort } from '../../../projections/referrals/list-queries.js';
import { UserQueries } from '../../../projections/users/queries.js';
import { CustomerReads } from '../../operations/customers/lists/customer-lists.js';
import {
  decidedReferrals,
  type ShownDecision,
} from '../../operations/referrals/decided-referrals.js';
import { moderate, undoDecision } from '../../operations/referrals/moderate.js';
import { signalInWords } from '../../operations/referrals/signal-in-words.js';
import { NotDone } from '../../operations/outcome.js';
import { MODERATION_ACTIONS } from '../../domain/moderation/moderation.decider.js';
import { redirected, sendPage } from '../console-answers.js';
import { TenantCall } from '../console-call.js';
import { FormFor, PageFor, TenantPage } from '../console-routes.js';
import type { Form } from '../sessions/form.js';
import { idCell, stateCell, textCell, timeCell } from '../view/cells.js';
import { faultAt, faultsOf, type Faults } from '../view/faults.js';
import type { DoneKey } from '../view/layout.js';
import { listAsked, onRecord } from '../view/list-page.js';
import { column, wholeTable, type TableColumn } from '../view/table.js';
import { template } from '../view/templates.js';
import { referralColumns } from './customer-columns.js';
import { queried, queryOf, TenantPages } from './tenant-pages.js';

const CHOSEN_MAX = 100;

const STATUS = { Waiting: 'PENDING', Approved: 'APPROVED', Denied: 'DENIED' } as const;
const SIDES = Object.values(STATUS);

const content = template('moderation');

/** For support: referrals that wait for a decision, and the decisions of the last 90 days. */
@TenantPage('moderation')
export class ConsoleModerationController {
  constructor(
    private readonly pages: TenantPages,
    private readonly reads: CustomerReads,
    private readonly users: UserQueries,
  ) {}

  @FormFor('support')
  async decide(@TenantCall() call: TenantCall): Promise<string> {
    const { form } = call;
    const reason = form.text('reason') || undefined;
    const referral = form.text('undo');
    if (referral !== '') return this.send(call, undoDecision, { referral, reason }, 'undone');
    const chosen = [...new Set(form.all('referral'))];
    const [side, decision] = [form.text('side'), form.text('action')];
    const name = side === '' ? decision : `${side}_${decision}`;
    const action = MODERATION_ACTIONS.find((one) => one === name);
    if (chosen.length === 0 || chosen.length > CHOSEN_MAX)
      return this.page(call, faultAt(null, `Select 1 to ${CHOSEN_MAX} referrals first.`));
    if (action === undefined) return this.page(call, faultAt(null, 'Choose Approve or Deny.'));
    const referrals = chosen.map((id) => ({ id, seen: seenIn(form, id) }));
    const done = decision === 'DENIED' ? 'denied' : 'approvedReferrals';
    return this.send(call, moderate, { referrals, action, reason }, done);
  }

  private async send(
    call: TenantCall,
    operation: typeof moderate,
    request: object,
    done: DoneKey,
  ): Promise<string> {
    const outcome = await this.pages.commanded(call, operation, request);
    if (outcome instanceof NotDone) return this.page(call, faultsOf(outcome));
    return redirected(call, `${call.tenantPath}/moderation`, done);
  }

  @PageFor('support')
  async page(@TenantCall() call: TenantCall, faults?: Faults): Promise<string> {
    await this.pages.caughtUp(call.ledger, 'referrals', 'users', 'activity');
    await onRecord(this.pages, call, { name: 'moderation', texts: { moderation: 'Waiting' } });
    const { undo } = queried(call.query, 'undo');
    const { request, view } = listAsked(call, {
      path: `${call.tenantPath}/moderation`,
      label: 'Referrals that wait',
      columns: waitingColumns(call.tenantPath),
      newest: { sort: 'started', descending: true },
      filters: [],
      empty: { text: 'No referral waits. Programs decide which sides wait for moderation.' },
      filePath: `${call.tenantPath}/referrals${queryOf({ moderation: 'Waiting', format: 'csv' })}`,
      tick: { name: 'referral', of: tickOf },
    });
    const answer = await this.reads.referrals.page(call.ledger, {
      ...request,
      filters: { moderation: 'Waiting' },
    });
    return sendPage(call, { of: 'moderation', faults }, content, {
      total: answer.total,
      table: view(answer).table,
      decided: await this.decided(call, undo),
      undo: undo || null,
      key: randomUUID(),
      reason: call.form.text('reason'),
    });
  }

  private async decided(call: TenantCall, undo: string) {
    const page = { limit: 50, offset: 0 };
    const { decisions, total } = await decidedReferrals(this.pages.core, call.ledger, page);
    const persons = decisions.flatMap(({ referral }) => [
      referral.referredPerson,
      referral.referrerPerson,
    ]);
    const people = await this.users.byPersons(call.ledger, persons);
    const nameOf = (person: string): string => {
      const user = people.get(person);
      const name = [user?.firstName, user?.lastName].filter(Boolean).join(' ');
      return user === undefined ? 'Forgotten' : name || user.userId;
    };
    const path = `${call.tenantPath}/moderation`;
    const columns = decidedColumns(path, nameOf);
    const label = 'Decided';
    const empty = 'Decisions of the last 90 days appear here, each with its operator.';
    const undone = decisions.find(({ referral }) => referral.referralId === undo)?.referral;
    const table = wholeTable(decisions, columns, { label, empty });
    return { total, table, undone: undone ? nameOf(undone.referredPerson) : undo };
  }
}

const statusOf = ({ referredModeration, referrerModeration }: ReferralListRow) =>
  `${STATUS[referredModeration]}/${STATUS[referrerModeration]}`;

const tickOf = (row: ReferralListRow) => ({
  value: row.referralId,
  label: `the referral of ${row.referred.name ?? row.referralId}`,
  kept: { name: `seen:${row.referralId}`, value: statusOf(row) },
});

const SHOWN = [
  ...(['referred', 'referrer', 'referredModeration', 'referrerModeration'] as const),
  ...(['code', 'started'] as const),
];
const SIGNALS = column(['signals', 'unsorted'], ({ fraudSignals }: ReferralListRow) =>
  textCell(
    Object.entries(fraudSignals)
      .map(([name, signal]) => `${signalInWords(name, signal)}.`)
      .join(' ') || 'None',
  ),
);

function waitingColumns(tenantPath: string): readonly TableColumn<ReferralListRow, ReferralSort>[] {
  const known = referralColumns(tenantPath);
  const shown = SHOWN.flatMap((key) => known.filter((one) => one.key === key));
  return [...shown.slice(0, 2), SIGNALS, ...shown.slice(2)];
}

const WORDS = { PENDING: 'Waiting', APPROVED: 'Approved', DENIED: 'Denied' } as const;

function decidedColumns(
  path: string,
  nameOf: (person: string) => string,
): readonly TableColumn<ShownDecision>[] {
  return [
    column('referred', ({ referral }) =>
      textCell(nameOf(referral.referredPerson), {
        note: `by ${nameOf(referral.referrerPerson)}`,
      }),
    ),
    column(['state', 'Referred side'], ({ referral }) => stateCell(WORDS[referral.referredStatus])),
    column(['referrerState', 'Referrer side'], ({ referral }) =>
      stateCell(WORDS[referral.referrerStatus]),
    ),
    column(['operator', 'Decided by', 'minor'], ({ operator, isByOperator }) =>
      textCell(isByOperator ? (operator ?? 'An operator') : 'A client of the API'),
    ),
    column(['reason', 'minor'], ({ reason }) => textCell(reason)),
    column(['at', 'Decided on', 'minor'], ({ decidedAt }) => timeCell(decidedAt)),
    column(['referral', 'minor'], ({ referral }) => idCell(referral.referralId)),
    column(['undo', ''], ({ referral }) =>
      textCell('Undo', { path: `${path}${queryOf({ undo: referral.referralId })}#undo` }),
    ),
  ];
}

/** The sides that the page showed; undefined: the form was not that of the page. */
function seenIn(form: Form, referralId: string) {
  const [referred, referrer] = form
    .text(`seen:${referralId}`)
    .split('/')
    .map((side) => SIDES.find((status) => status === side));
  return referred && referrer ? { referred, referrer } : undefined;
}
