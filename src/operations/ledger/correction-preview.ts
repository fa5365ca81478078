import { type AccountState, unitKey, unitOf } from '../../domain/account/account.state.js';
import { adjustCredit } from '../../domain/account/rewards/adjustment.js';
import { availableOf } from '../../domain/account/rewards/spendable.js';
import type { DomainEvent } from '../../domain/events.js';
import { personal } from '../../domain/personal.js';
import type { Scope } from '../../domain/scope.js';
import type { Core } from '../../stores/core.js';
import { changedMeanwhile } from '../accounts/last-change.js';
import { NotDone, outcomeOf } from '../outcome.js';
import { notAdjusted } from './ledger-adjustment.js';
import { POSTED } from './ledger-entries.js';
import type { ShownProposal } from './ledger-proposals.js';

type PreviewCore = Pick<Core, 'names' | 'streams' | 'tenants'>;

async function accountNow({ names, streams, tenants }: PreviewCore, scope: Scope, id: string) {
  const stream = names.accountStream(scope, names.accountRef(scope, id));
  const { state } = await streams.accounts.load(stream);
  return { stream, state, now: await tenants.now(scope) };
}

const balanceOf = (state: AccountState, unit: string, now: number): number =>
  state.status === 'absent' ? 0 : availableOf(state.spendable, { unit, now, person: null });

interface AskedPreview {
  readonly account: string;
  readonly user: string;
  readonly unit: string;
  /** Positive adds, negative takes away. */
  readonly amount: number;
}

/** A correction would take more than its user has. Pages write the amounts as money. */
export class TooLittleCredit extends NotDone {
  constructor(
    readonly asked: number,
    readonly available: number,
  ) {
    super('REDEMPTION_NOT_POSSIBLE', [`${asked} is more than the available ${available}`]);
  }
}

/**
 * The available credit of an account now, and after a correction: integers of the unit.
 * @throws {NotDone} where it is refused.
 */
export async function correctionPreview(
  core: PreviewCore,
  scope: Scope,
  { account, user, unit, amount }: AskedPreview,
) {
  const { state, now } = await accountNow(core, scope, account);
  const person = state.status === 'open' ? state.personsByUserId.get(user) : undefined;
  if (state.status === 'open' && person !== undefined && amount < 0) {
    const available = availableOf(state.spendable, { unit, now, person });
    if (available + amount < 0) throw new TooLittleCredit(-amount, available);
  }
  const unnamed = personal('', '');
  const decision = adjustCredit(state, {
    type: 'AdjustCredit',
    userId: user,
    unit,
    amount,
    reason: '',
    approvedBy: unnamed,
    by: unnamed,
    rewardId: '',
    redemptionId: '',
    now,
  });
  if ('refused' in decision) throw notAdjusted(decision, { accountId: account, userId: user });
  const balance = balanceOf(state, unit, now);
  return { balance, after: balance + amount };
}

/** Of a proposal that waits, for its approver; a refusal is a value; null: it has ended. */
export async function previewOf(
  core: PreviewCore,
  scope: Scope,
  { account, user, unit, amount, state }: ShownProposal,
) {
  if (state !== 'waiting' || account === null || user === null) return null;
  return outcomeOf(() => correctionPreview(core, scope, { account, user, unit, amount }));
}

/** @throws {NotDone} CHANGED_MEANWHILE when a form shows another balance than that of now. */
export async function checkBalance(
  core: PreviewCore & Pick<Core, 'log' | 'codec'>,
  scope: Scope,
  shown: { readonly account: string; readonly unit: string; readonly balance: number | undefined },
): Promise<void> {
  const { account, unit, balance } = shown;
  if (balance === undefined) return;
  const { stream, state, now } = await accountNow(core, scope, account);
  if (balanceOf(state, unit, now) === balance) return;
  const changes = { stream, types: POSTED, isOne: (event: DomainEvent) => isInUnit(event, unit) };
  throw await changedMeanwhile(core, changes, 'this balance');
}

function isInUnit(event: DomainEvent, unit: string): boolean {
  const own =
    event.type === 'RewardGranted' ? unitOf(event.value) : 'unit' in event ? event.unit : null;
  return typeof own === 'string' && unitKey(own) === unitKey(unit);
}
