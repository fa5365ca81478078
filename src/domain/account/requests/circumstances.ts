import type { Provided } from '../../need.js';
import type { AccountRef } from '../../scope.js';
import type { OpenTenant } from '../../tenant/tenant.decider.js';

/**
 * What a request is decided under. The same for every try but for the time, the tenant and what was
 * fetched.
 */
export interface Circumstances {
  /** Epoch milliseconds. */
  readonly now: number;
  readonly account: AccountRef;
  /** With its programs as of now. */
  readonly tenant: OpenTenant;
  readonly provided: Provided;
  /** The same when the command is repeated. */
  readonly commandId: string;
  readonly ids: Ids;
}

/** Ids and keyed hashes: the same for the same arguments. */
export interface Ids {
  /** A UUID. */
  readonly uuid: (cause: string, step: string | number) => string;
  /** Of a referral or reward of this account. */
  readonly within: (cause: string) => string;
  /** Of what a rule gives for an event. */
  readonly rewardOfEvent: (userEventId: string, programId: string, rule: string) => string;
  /** Stands for a user id where no plain one may stay. */
  readonly userRef: (userId: string) => string;
  /** Stands for the idempotency key of a batch of a user's events. */
  readonly batchRef: (userId: string, idempotencyKey: string) => string;
}
