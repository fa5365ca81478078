import { randomUUID } from 'node:crypto';
import {
  approve,
  propose,
  proposalRequest,
} from '../../operations/ledger/correction.operations.js';
import {
  listProposals,
  proposalNameOf,
  type ShownProposal as Proposal,
} from '../../operations/ledger/ledger-proposals.js';
import { pause } from '../../foundation/pause.js';
import { ApiError } from '../../http/edge/api-error.js';
import { FormFor, PageFor, pageSent, redirected, TenantCall, TenantPage } from '../console-call.js';
import type { Form } from '../sessions/form.js';
import { faultsIn, faultsOf, type Faults } from '../view/faults.js';
import { inOrder, type Column } from '../view/sorting.js';
import { template } from '../view/templates.js';
import { queried, queryOf, TenantPages } from './tenant-pages.js';
import { TEXTS } from '../texts.js';
import { NotDone, type Outcome } from '../../operations/outcome.js';

const FIELDS = ['account', 'user', 'unit', 'amount', 'reason'] as const;
const BY_LINES = Object.fromEntries(FIELDS.map((name) => [`${name}:`, name]));
const SHOWN_MAX = 200;

type ShownProposal = Proposal & { readonly isOwn: boolean };

const COLUMNS: readonly Column<ShownProposal>[] = [
  { label: TEXTS.corrections.proposed, key: 'proposed', value: 'proposedAt' },
  { label: TEXTS.corrections.by, key: 'by', value: 'proposedBy' },
  { label: TEXTS.fields.account, key: 'account', value: 'account' },
  { label: TEXTS.fields.user, key: 'user', value: 'user' },
  { label: TEXTS.fields.amount, key: 'amount', isNumber: true, value: 'amount' },
  { label: TEXTS.fields.reason, key: 'reason', value: 'reason' },
  { label: TEXTS.corrections.until, key: 'until', value: 'expiresAt' },
  { label: TEXTS.corrections.decision },
];

const content = template('corrections');

const FIRST_LOOKED_FOR = { times: 50, everyMs: 100 };

/** A form that is sent twice at once waits for the answer of the first one. */
async function afterTheFirst<T>(propose: () => Promise<Outcome<T>>): Promise<Outcome<T>> {
  for (let looked = 1; ; looked += 1) {
    const outcome = await propose();
    const isUnderWay = outcome instanceof NotDone && outcome.code === 'REQUEST_IN_PROGRESS';
    if (!isUnderWay || looked === FIRST_LOOKED_FOR.times) return outcome;
    await pause(FIRST_LOOKED_FOR.everyMs);
  }
}

/** For finance: corrections that one operator proposes and another one approves. */
@TenantPage('corrections')
export class ConsoleCorrectionsController {
  constructor(private readonly pages: TenantPages) {}

  @PageFor('finance')
  page(@TenantCall() call: TenantCall): Promise<string> {
    return this.shown(call);
  }

  @FormFor('finance')
  decide(@TenantCall() call: TenantCall): Promise<string> {
    return call.form.text('action') === 'approve' ? this.approve(call) : this.propose(call);
  }

  private async propose(call: TenantCall): Promise<string> {
    const { amount, ...correction } = typedIn(call.form);
    const key = call.form.text('key') || undefined;
    const asked = proposalRequest.safeParse({
      ...correction,
      amount: /^[+-]?\d+$/.test(amount) ? Number(amount) : NaN,
    });
    if (!asked.success)
      return this.shown(
        call,
        faultsIn(
          asked.error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`),
          BY_LINES,
        ),
      );
    const request = { ...call.scope, ...asked.data };
    const outcome = await afterTheFirst(() => this.pages.called(call, propose, request, key));
    if (outcome instanceof NotDone) return this.shown(call, faultsOf(outcome));
    return redirected(call, `${call.tenantPath}/corrections`, 'proposed');
  }

  private async approve(call: TenantCall): Promise<string> {
    const proposal = call.form.text('proposal');
    const name = proposalNameOf(proposal);
    if (name?.scope.tenant !== call.ledger.tenant || name.scope.mode !== call.ledger.mode)
      throw new ApiError('FORBIDDEN', { message: TEXTS.corrections.ofOthers });
    const outcome = await this.pages.called(call, approve, { proposal });
    if (!(outcome instanceof NotDone))
      return redirected(call, `${call.tenantPath}/corrections`, 'approved');
    if (outcome.code === 'PROPOSAL_IS_OWN')
      throw new ApiError('FORBIDDEN', { message: faultsOf(outcome).problems.join() });
    return this.shown(call, faultsOf(outcome));
  }

  private async shown(call: TenantCall, faults?: Faults): Promise<string> {
    const waiting = await this.pages.recorded(call, 'ledger proposals', async (core) => {
      const selection = { state: 'waiting', limit: SHOWN_MAX, now: Date.now() } as const;
      const result = await listProposals(core, call.ledger, selection);
      return { result, parameters: { limit: SHOWN_MAX } };
    });
    if (waiting instanceof NotDone) throw new Error('proposals are never refused');
    const { name } = call.operator;
    return pageSent(call, { of: 'corrections', faults }, content, {
      typed: { ...typedIn(call.form), key: call.form.text('key') || randomUUID() },
      ...inOrder(
        waiting.map((one) => ({ ...one, isOwn: one.proposedBy === name })),
        COLUMNS,
        queried(call.query, 'sort', 'dir'),
        queryOf,
      ),
    });
  }
}

const typedIn = (form: Form) =>
  Object.fromEntries(FIELDS.map((name) => [name, form.text(name)])) as Readonly<
    Record<(typeof FIELDS)[number], string>
  >;
