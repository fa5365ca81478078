import type { Core } from '../../stores/core.js';
import type { AccountEvent, AccountEventOf } from '../../domain/account/account.events.js';
import type { DomainEvent } from '../../domain/events.js';
import type { AccountRef, Scope } from '../../domain/scope.js';
import { decodedIn } from '../ledger/ledger-entries.js';

/**
 * What former accounts of a customer were paid by the provider, by reward. Null: a discount that
 * may have been paid as credit; the erasure of the account has destroyed its amount.
 */
export type FormerRewards = ReadonlyMap<string, number | null>;

type Reads = Pick<Core, 'log' | 'names' | 'codec'>;

/** Of the accounts that had the customer's id and were deleted, by the log alone. */
export async function formerRewards(
  core: Reads,
  scope: Scope,
  customer: string,
): Promise<FormerRewards> {
  const rewards = new Map<string, number | null>();
  for (const account of await holdersOf(core, scope, customer)) {
    const stream = core.names.accountStream(scope, account);
    for (const [rewardId, amount] of await paidToDeleted(core, stream))
      rewards.set(rewardId, amount);
  }
  return rewards;
}

async function holdersOf(
  core: Reads,
  scope: Scope,
  customer: string,
): Promise<ReadonlySet<AccountRef>> {
  const holders = new Set<AccountRef>();
  const stream = core.names.paymentProviderIdStream(scope, customer);
  for await (const { event } of decodedIn(core, stream, RESERVATIONS))
    if (event.type === 'ReservationMade') holders.add(event.holder.account);
  return holders;
}

/** The outcome of a call may be recorded after the account was deleted. */
async function paidToDeleted(core: Reads, stream: string): Promise<FormerRewards> {
  const ofDeleted = new Map<string, number | null>();
  let ofPresent = new Map<string, number | null>();
  for await (const { event } of decodedIn(core, stream, TYPES))
    if (event.type === 'ErasureRequested' && event.account !== null) {
      for (const [rewardId, amount] of ofPresent) ofDeleted.set(rewardId, amount);
      ofPresent = new Map();
    } else if (isOfPayment(event))
      notePayment(ofDeleted.has(event.rewardId) ? ofDeleted : ofPresent, event);
  return ofDeleted;
}

const PAYMENTS = [
  'RewardPushStarted',
  'RewardPushed',
  'RewardPushRefused',
  'CreditRedeemed',
] as const satisfies readonly AccountEvent['type'][];
type PaymentEvent = AccountEventOf<(typeof PAYMENTS)[number]>;

const RESERVATIONS: ReadonlySet<string> = new Set(['ReservationMade']);
const PAYMENT_TYPES: ReadonlySet<string> = new Set(PAYMENTS);
const TYPES: ReadonlySet<string> = new Set([...PAYMENTS, 'ErasureRequested']);

const isOfPayment = (event: DomainEvent): event is PaymentEvent => PAYMENT_TYPES.has(event.type);

function notePayment(paid: Map<string, number | null>, event: PaymentEvent): void {
  const { rewardId } = event;
  switch (event.type) {
    case 'RewardPushStarted':
      paid.set(rewardId, event.amount > 0 ? event.amount : null);
      break;
    case 'RewardPushed':
      paid.set(rewardId, paid.get(rewardId) ?? null);
      break;
    case 'RewardPushRefused':
      // With `mayBePaid` a call before may have taken effect.
      if (event.mayBePaid === undefined) paid.delete(rewardId);
      break;
    case 'CreditRedeemed':
      if (event.externalReference !== undefined) paid.set(rewardId, event.amount);
      break;
  }
}
