import type { AccountRef } from '../domain/scope.js';
import { idWithin } from '../privacy/keyed-names.js';

/**
 * The id of what a rule gives for an event: the same for the same event and rule, in whichever
 * account the reward is.
 */
export const eventRewardId = (
  account: AccountRef,
  userEventId: string,
  programId: string,
  rule: string,
): string => idWithin(account, JSON.stringify([userEventId, programId, rule]));
