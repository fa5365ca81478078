import { Map } from 'immutable';
import type { AbsentAccount, OpenAccount, OrphanedPush } from '../account-shapes.js';
import type { AccountEvent, AccountEventOf } from '../account.events.js';
import {
  isBeingPushed,
  rewardRef,
  type RewardPush,
  type RewardState,
} from '../rewards/reward-state.js';

export type PushEvent = AccountEventOf<'RewardPushStarted' | 'RewardPushed' | 'RewardPushRefused'>;

export function pushedBy(reward: RewardState, event: PushEvent): RewardState {
  const before = reward.pushed;
  switch (event.type) {
    case 'RewardPushStarted': {
      const { push, at, amount, body } = event;
      const started: RewardPush = {
        push,
        status: 'STARTED',
        at,
        amount,
        calls: body.value?.calls ?? null,
        done: body.value?.done ?? [],
        reason: null,
        mayBePaid: false,
        reference: before?.reference ?? null,
      };
      return { ...reward, cancellable: false, pushed: started };
    }
    case 'RewardPushed': {
      const ended = before ?? initialPush(event.at);
      const reference = event.reference.value;
      return { ...reward, pushed: { ...ended, status: 'PUSHED', reason: null, reference } };
    }
    case 'RewardPushRefused': {
      const ended = before ?? initialPush(event.at);
      const done = [...new Set([...ended.done, ...(event.done.value ?? [])])];
      const mayBePaid = event.mayBePaid === true;
      const reference = event.reference?.value ?? ended.reference;
      const { reason } = event;
      const parked = { ...ended, status: 'PARKED', reason, done, mayBePaid, reference } as const;
      return { ...reward, pushed: parked };
    }
  }
}

const initialPush = (at: number): RewardPush => ({
  push: 0,
  status: 'PARKED',
  at,
  amount: 0,
  calls: null,
  done: [],
  reason: null,
  mayBePaid: false,
  reference: null,
});

/** Payments in progress of an account that is being deleted. */
export function pushesInProgress({
  rewards,
  toPush,
  account,
}: OpenAccount): Map<string, OrphanedPush> {
  return Map(
    [...toPush].flatMap((rewardId) => {
      const reward = rewards.get(rewardId);
      if (!reward?.pushed || !isBeingPushed(reward)) return [];
      const { push, at, amount } = reward.pushed;
      const kept = { reward: rewardRef(reward), subject: account, push, at, amount };
      return [[rewardId, kept] as const];
    }),
  );
}

/** A deleted account records only outcomes of payments in progress. */
export function evolveDeleted(state: AbsentAccount, event: AccountEvent): AbsentAccount {
  if (event.type !== 'RewardPushed' && event.type !== 'RewardPushRefused') return state;
  const { remains } = state;
  if (!remains.pushing.has(event.rewardId)) return state;
  return { ...state, remains: { ...remains, pushing: remains.pushing.delete(event.rewardId) } };
}
