import { randomUUID } from 'node:crypto';
import type { Readable } from 'node:stream';
import {
  approve,
  propose,
  reject,
  withdraw,
} from '../../operations/ledger/correction.operations.js';
import { correctionPreview } from '../../operations/ledger/correction-preview.js';
import {
  correctableAccount,
  type CorrectableAccount,
} from '../../operations/ledger/correctable-account.js';
import { proposalNameOf } from '../../operations/ledger/ledger-proposals.js';
import { NotDone, outcomeOf, type Outcome } from '../../operations/outcome.js';
import { pause } from '../../foundation/pause.js';
import { ApiError } from '../../http/edge/api-error.js';
import { redirected, sendPage } from '../console-answers.js';
import { TenantCall } from '../console-call.js';
import { FilePageFor, FormFor, TenantPage } from '../console-routes.js';
import { proposalsShown } from '../view/corrections-view.js';
import { faultAt, faultsOf, faultsOfCorrection, noAccount, type Faults } from '../view/faults.js';
import { hasRole } from '../view/navigation.js';
import { amountText, template } from '../view/templates.js';
import { typedAmount } from '../view/typed-amount.js';
import { moneyText } from '../../domain/money.js';
import { given, TenantPages } from './tenant-pages.js';

const FIELDS = ['account', 'user', 'unit', 'amount', 'reason'] as const;
type Typed = Readonly<Record<(typeof FIELDS)[number], string>>;

const content = template('corrections');

const FIRST_LOOKED_FOR = { times: 50, everyMs: 100 };

/** A form that is sent twice waits for the answer of the first one. */
async function afterTheFirst<T>(send: () => Promise<Outcome<T>>): Promise<Outcome<T>> {
  for (let looked = 1; ; looked += 1) {
    const outcome = await send();
    const isUnderWay = outcome instanceof NotDone && outcome.code === 'REQUEST_IN_PROGRESS';
    if (!isUnderWay || looked === FIRST_LOOKED_FOR.times) return outcome;
    await pause(FIRST_LOOKED_FOR.everyMs);
  }
}

/** What a form would book, and the balances before and after. */
interface Preview {
  readonly booked: string;
  readonly before: string;
  readonly after: string;
  /** The entries and the amount in the unit, which the confirmation sends again. */
  readonly shown: string;
  /** That the confirmation carries. */
  readonly balance: number;
}

const DECISIONS = {
  approve: [approve, 'approved'],
  reject: [reject, 'rejected'],
  withdraw: [withdraw, 'withdrawn'],
} as const;

/** Corrections that one operator proposes and another approves; grants above support's limit. */
@TenantPage('corrections')
export class ConsoleCorrectionsController {
  constructor(private readonly pages: TenantPages) {}

  @FormFor('finance', 'support')
  async decide(@TenantCall() call: TenantCall): Promise<string | Readable> {
    const action = call.form.text('action');
    if (action !== 'withdraw' && !hasRole(call.operator, ['finance']))
      throw new ApiError('FORBIDDEN');
    if (action === 'approve' || action === 'reject' || action === 'withdraw')
      return this.end(call, action);
    return this.propose(call);
  }

  private async propose(call: TenantCall): Promise<string | Readable> {
    const typed = given(call, ...FIELDS);
    const account = await correctableAccount(this.pages.core, call.ledger, typed.account);
    if (account === undefined) return this.page(call, noAccount(typed.account));
    const read = typedAmount(typed.amount, account.formatOf(typed.unit));
    const missing = missingIn(typed, account);
    if (missing !== undefined) return this.page(call, missing);
    if ('problem' in read) return this.page(call, faultAt('amount', read.problem));
    const request = { ...call.scope, ...typed, amount: read.amount, newUnit: false };
    const preview = await outcomeOf(() => correctionPreview(this.pages.core, call.ledger, request));
    const text = textOf(account, typed.unit);
    if (preview instanceof NotDone) return this.page(call, faultsOfCorrection(preview, text));
    const shown: Preview = {
      booked: `${text(read.amount)} = ${amountText(read.amount, typed.unit, undefined)}`,
      before: text(preview.balance),
      after: text(preview.after),
      shown: JSON.stringify([...FIELDS.map((name) => typed[name]), read.amount]),
      balance: preview.balance,
    };
    // The first sending shows what will be booked; the second one, of the same entries, books it.
    if (call.form.text('shown') !== shown.shown) return this.page(call, undefined, shown);
    const balance = Number(call.form.text('balance'));
    const outcome = await afterTheFirst(() =>
      this.pages.called(call, propose, { ...request, balance }),
    );
    if (outcome instanceof NotDone) return this.page(call, faultsOf(outcome), shown);
    return redirected(call, `${call.tenantPath}/corrections`, 'proposed');
  }

  private async end(call: TenantCall, action: keyof typeof DECISIONS): Promise<string | Readable> {
    const { form } = call;
    const proposal = form.text('proposal');
    const name = proposalNameOf(proposal);
    if (name?.scope.tenant !== call.ledger.tenant || name.scope.mode !== call.ledger.mode)
      throw new ApiError('FORBIDDEN', { message: 'The proposal is not one of this tenant.' });
    const reason = form.text('reason');
    if (action === 'reject' && (reason === '' || reason.length > 1_000))
      return this.page(
        call,
        faultAt(`reason-${proposal}`, 'The reason takes 1 to 1,000 characters.'),
      );
    const shownBalance = form.text('balance');
    const balance = shownBalance === '' ? undefined : Number(shownBalance);
    const [operation, done] = DECISIONS[action];
    const outcome = await this.pages.called(call, operation, { proposal, balance, reason });
    if (!(outcome instanceof NotDone))
      return redirected(call, `${call.tenantPath}/corrections`, done);
    if (outcome.code === 'PROPOSAL_IS_OWN' || outcome.code === 'PROPOSAL_OF_OTHERS')
      throw new ApiError('FORBIDDEN', { message: faultsOf(outcome).problems.join() });
    // The page shows the refusal at the proposal, on current figures.
    const isOfBalance = outcome.code === 'REDEMPTION_NOT_POSSIBLE';
    return this.page(call, isOfBalance ? faultAt(null, NOT_BOOKED) : faultsOf(outcome));
  }

  @FilePageFor('finance', 'support')
  async page(
    @TenantCall() call: TenantCall,
    faults?: Faults,
    preview?: Preview,
  ): Promise<string | Readable> {
    const isEnd = call.form.text('proposal') !== '';
    const typed = isEnd ? NOTHING : given(call, ...FIELDS);
    const { file, ...shown } = await proposalsShown(this.pages, call);
    if (file) return file;
    const account =
      typed.account === ''
        ? undefined
        : await correctableAccount(this.pages.core, call.ledger, typed.account);
    const format = account?.formatOf(typed.unit || (account.units[0] ?? ''));
    return sendPage(call, { of: 'corrections', faults }, content, {
      mayPropose: hasRole(call.operator, ['finance']),
      path: `${call.tenantPath}/corrections`,
      // A form that was refused is another one when it is sent again.
      typed: {
        ...typed,
        key: (faults === undefined && call.form.text('key')) || randomUUID(),
        shown: preview?.shown,
      },
      users:
        account?.users.map(({ id, name }) => ({
          value: id,
          words: name === '' ? id : `${name} (${id})`,
        })) ?? null,
      units: account?.units ?? null,
      amountHint: format
        ? `In ${format.currency}; a minus takes credit away`
        : 'In the currency or the unit; a minus takes credit away',
      preview: preview ?? null,
      ...shown,
    });
  }
}

const NOT_BOOKED = 'The correction is not booked: the user has less credit than it takes away.';
const NOTHING: Typed = { account: '', user: '', unit: '', amount: '', reason: '' };

/** What a form lacks; undefined: nothing. */
function missingIn({ user, unit, reason }: Typed, account: CorrectableAccount): Faults | undefined {
  if (!account.users.some(({ id }) => id === user))
    return faultAt('user', user === '' ? 'Choose a user.' : `The account has no user ${user}.`);
  if (!account.units.some((one) => one.toLowerCase() === unit.toLowerCase())) {
    const known = account.units.join(', ');
    return faultAt('unit', `Choose a unit of the account or its programs: ${known}.`);
  }
  if (reason === '' || reason.length > 1_000)
    return faultAt('reason', 'The reason takes 1 to 1,000 characters.');
  return undefined;
}

function textOf(account: CorrectableAccount, unit: string): (value: number) => string {
  const format = account.formatOf(unit);
  return (value) => amountText(value, unit, () => format && moneyText(format));
}
