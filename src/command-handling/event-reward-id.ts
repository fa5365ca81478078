import type { AccountRef } from '../domain/scope.js';
import { idWithin } from '../privacy/keyed-names.js';

/** The id of the reward that a rule grants for an event: the same in every account. */
export const eventRewardId = (
  account: AccountRef,
  userEventId: string,
  programId: string,
  rule: string,
): string => idWithin(account, JSON.stringify([userEventId, programId, rule]));
