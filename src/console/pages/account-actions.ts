import { randomUUID } from 'node:crypto';
import * as z from 'zod';
import { moneyText } from '../../domain/money.js';
import { CENTS } from '../../domain/tenant/unit-settings.js';
import { unitKey } from '../../domain/units.js';
import type { Acted } from '../../operations/customers/actions/account-action.js';
import { blockUser, unblockUser } from '../../operations/customers/actions/block-user.js';
import { cancelReward } from '../../operations/customers/actions/cancel-reward.js';
import { editableUser, editUser } from '../../operations/customers/actions/edit-user.js';
import { beforeForgetting, forgetUser } from '../../operations/customers/actions/forget-user.js';
import {
  grantReward,
  needsApproval,
  type AskedGrant,
} from '../../operations/customers/actions/grant-reward.js';
import { correctableAccount } from '../../operations/ledger/correctable-account.js';
import { NotDone, outcomeOf } from '../../operations/outcome.js';
import type { Operation } from '../../operations/registry/operation.js';
import { staffOf, type TenantCall } from '../console-call.js';
import { faultAt, faultsIn, faultsOf, type Faults } from '../view/faults.js';
import type { DoneKey } from '../view/layout.js';
import { momentOf } from '../view/list-page.js';
import { amountText } from '../view/templates.js';
import { typedAmount } from '../view/typed-amount.js';
import { given, type TenantPages } from './tenant-pages.js';

/** What a form of support did, why it was refused, or what its confirmation will book. */
export interface ActionResult {
  readonly done?: DoneKey;
  readonly faults?: Faults;
  readonly preview?: GrantPreview;
}

type GrantPreview = Awaited<ReturnType<AccountActions['preview']>>;

/** The account of the page, as its forms need it. */
interface OfPage {
  readonly userIds: readonly string[];
  readonly isSupport: boolean;
  readonly units: readonly { readonly unit: string }[];
}

const DONE: ReadonlyMap<string, readonly [Operation, DoneKey]> = new Map([
  ['block', [blockUser, 'blocked']],
  ['unblock', [unblockUser, 'unblocked']],
  ['cancel', [cancelReward, 'rewardCancelled']],
  ['edit', [editUser, 'edited']],
  ['forget', [forgetUser, 'forgotten']],
  ['grant', [grantReward, 'granted']],
]);

const GRANT_TYPES = [
  { value: 'CREDIT', words: 'Credit' },
  { value: 'PCT_DISCOUNT', words: 'Percent discount' },
] as const;

const GRANT_FIELDS = ['user', 'type', 'unit', 'amount', 'percent', 'name', 'expires', 'reason'];

/** The entries of a grant and its amount in the unit, which its confirmation sends again. */
const shownOf = ({ form }: Pick<TenantCall, 'form'>, { amount }: Partial<AskedGrant>): string =>
  JSON.stringify([...GRANT_FIELDS.map((name) => form.text(name)), amount ?? null]);

const FIELDS = ['firstName', 'lastName', 'email', 'locale', 'countryCode'] as const;

/** The forms of support on the page of an account. */
export class AccountActions {
  constructor(private readonly pages: TenantPages) {}

  /** Runs the operation of a form, once for each of its keys. */
  async act(call: TenantCall, account: string): Promise<ActionResult> {
    const action = call.form.text('action');
    const [operation, done] = DONE.get(action) ?? [];
    if (operation === undefined || done === undefined)
      return { faults: faultAt(null, 'Choose an action.') };
    const asked = await this.request(call, action, account);
    if (isFaults(asked)) return { faults: asked };
    const checked = z.object(operation.members).safeParse({ ...call.scope, ...asked });
    if (!checked.success) {
      const lines = checked.error.issues.map(
        ({ path, message }) => `${String(path[0])}: ${message}`,
      );
      const names = checked.error.issues.map(({ path }) => String(path[0]));
      const fields = Object.fromEntries(names.map((name) => [`${name}:`, name]));
      return { faults: faultsIn(lines, fields) };
    }
    if (action === 'grant' && call.form.text('shown') !== shownOf(call, checked.data)) {
      const preview = await outcomeOf(() => this.preview(call, checked.data));
      return preview instanceof NotDone ? { faults: faultsOf(preview) } : { preview };
    }
    const outcome = await this.pages.commanded<Acted & { readonly proposal?: string }>(
      call,
      operation,
      checked.data,
    );
    if (outcome instanceof NotDone) return { faults: faultsOf(outcome) };
    return { done: outcome.proposal === undefined ? done : 'grantProposed' };
  }

  /** The members of an operation's request, or what is wrong with a field. */
  private async request(
    call: TenantCall,
    action: string,
    account: string,
  ): Promise<Faults | Readonly<Record<string, unknown>>> {
    const { form } = call;
    const of = { account, user: form.text('user') };
    if (action === 'cancel')
      return { account, reward: form.text('reward'), reason: form.text('reason') };
    if (action === 'forget') {
      if (form.text('confirm') !== of.user)
        return faultAt('confirm', `Type the user id ${of.user} to confirm.`);
      return { ...of, refuseInFuture: form.text('refuse') === 'yes' };
    }
    if (action === 'edit')
      return {
        ...of,
        ...Object.fromEntries(FIELDS.map((name) => [name, form.text(name)])),
        segments: listIn(form.text('segments')),
        customFields: pairsIn(form.text('customFields')),
        version: form.text('version'),
      };
    if (action === 'grant') return this.grant(call, of);
    return { ...of, reason: form.text('reason') || undefined };
  }

  private async grant(call: TenantCall, of: { readonly account: string; readonly user: string }) {
    const { form } = call;
    const shared = {
      ...of,
      name: form.text('name') || undefined,
      expires: momentOf(form.text('expires'), 'end'),
      reason: form.text('reason'),
    };
    if (form.text('type') === 'PCT_DISCOUNT')
      return { ...shared, type: 'PCT_DISCOUNT', percent: Number(form.text('percent') || NaN) };
    const unit = form.text('unit');
    const formatOf = await this.formatsOf(call, of.account);
    const typed = typedAmount(form.text('amount'), formatOf(unit));
    if ('problem' in typed) return faultAt('amount', typed.problem);
    return { ...shared, type: 'CREDIT', unit, amount: typed.amount };
  }

  /** What a grant will book, for its confirmation. @param request of the operation, checked. */
  async preview(call: TenantCall, request: Readonly<Record<string, unknown>>) {
    const { core } = this.pages;
    const { account, user, unit, amount, percent, expires } = request as AskedGrant;
    /** `expires` is a moment; null: the reward does not expire. The confirmation sends `shown`. */
    const shared = {
      user,
      account,
      expires: isoOf(expires) || null,
      shown: shownOf(call, { amount }),
    };
    if (unit === undefined || amount === undefined)
      return { ...shared, booked: `A discount of ${percent}%`, isProposed: false };
    const format = (await this.formatsOf(call, account))(unit);
    const money = amountText(amount, unit, () => format && moneyText(format));
    const exact = amountText(amount, unit, undefined);
    const asked = { account, unit, amount };
    // Above the limit of the operator finance approves it.
    const isProposed = await needsApproval(core, call.ledger, staffOf(call), asked);
    return { ...shared, booked: money === exact ? exact : `${money} = ${exact}`, isProposed };
  }

  /** The form that the address of the page asks for, with what was typed; null: none. */
  async shown(call: TenantCall, account: string, page: OfPage, preview?: GrantPreview) {
    if (!page.isSupport) return null;
    const { form } = call;
    const { action: kind, user, reward } = given(call, 'action', 'user', 'reward');
    if (!DONE.has(kind)) return null;
    const typed = Object.fromEntries(GRANT_FIELDS.map((name) => [name, form.text(name)]));
    return {
      kind,
      is: Object.fromEntries([...DONE.keys()].map((one) => [one, one === kind])),
      user,
      typed: { ...typed, reward },
      expires: isoOf(momentOf(form.text('expires'), 'end')),
      // A refused form is another one when it is sent again.
      key: (preview && form.text('key')) || randomUUID(),
      preview: preview ?? null,
      users: page.userIds,
      types: GRANT_TYPES,
      units: await this.unitsOf(call, account, page),
      edit: kind === 'edit' ? await this.editForm(call, account, user) : null,
      forget: kind === 'forget' ? await this.forgetForm(call, account, user) : null,
    };
  }

  /** Units of the tenant and of the account; each with the currency of its amounts. */
  private async unitsOf(call: TenantCall, account: string, { units }: OfPage) {
    const formats = (await this.pages.core.tenants.find(call.scope.tenant))?.units.formats ?? [];
    const known = new Map([CENTS, ...[...formats, ...units].map(({ unit }) => unit)].map(byKey));
    const formatOf = await this.formatsOf(call, account);
    return [...known.values()].map((unit) => {
      const format = formatOf(unit);
      return { value: unit, words: format ? `${format.currency} (${unit})` : unit };
    });
  }

  /** How amounts of the account's units are typed and shown. */
  private async formatsOf({ ledger }: TenantCall, account: string) {
    const found = await correctableAccount(this.pages.core, ledger, account);
    return (unit: string) => found?.formatOf(unit);
  }

  private async editForm(call: TenantCall, account: string, user: string) {
    const { core } = this.pages;
    const found = await outcomeOf(() => editableUser(core, call.ledger, { account, user }));
    if (found instanceof NotDone) return null;
    const { segments, customFields, version, ...texts } = found;
    const stored = {
      ...texts,
      segments: segments.join(', '),
      customFields: customFields.map(([name, value]) => `${name}=${String(value)}`).join('\n'),
    };
    const isTyped = call.form.text('action') === 'edit';
    const typed = Object.fromEntries(
      Object.entries(stored).map(([name, value]) => [name, isTyped ? call.form.text(name) : value]),
    );
    return { version, ...(typed as typeof stored) };
  }

  private async forgetForm(call: TenantCall, account: string, user: string) {
    const { core } = this.pages;
    const found = await outcomeOf(() => beforeForgetting(core, call.ledger, { account, user }));
    if (found instanceof NotDone) return null;
    return { lost: found.lost.length, staying: found.staying.length };
  }
}

const byKey = (unit: string) => [unitKey(unit), unit] as const;

const isoOf = (at: number | undefined): string =>
  at === undefined ? '' : new Date(at).toISOString();

const isFaults = (asked: object): asked is Faults => 'problems' in asked;

const listIn = (text: string): readonly string[] =>
  text
    .split(',')
    .map((one) => one.trim())
    .filter((one) => one !== '');

/** Lines of `name=value`. */
const pairsIn = (text: string): readonly (readonly [string, string])[] =>
  text
    .split(/\r?\n/)
    .map((line) => line.trim())
    .filter((line) => line !== '')
    .map((line) => {
      const [name = '', ...value] = line.split('=');
      return [name.trim(), value.join('=').trim()] as const;
    });
