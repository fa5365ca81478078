import type { Provided } from '../../need.js';
import type { AccountRef } from '../../scope.js';
import type { OpenTenant } from '../../tenant/tenant.decider.js';
import type { ValueRef } from '../users/refundable.js';

/** Inputs of a decision. Retries change only the time, the tenant and the needs. */
export interface Circumstances {
  readonly now: number;
  /** How far `now` is ahead of the real clock; missing: not at all. */
  readonly aheadMs?: number;
  readonly account: AccountRef;
  /** With its current programs. */
  readonly tenant: OpenTenant;
  readonly provided: Provided;
  /** Constant when the command is repeated. */
  readonly commandId: string;
  readonly ids: Ids;
}

/** Ids and keyed hashes; equal arguments give equal results. */
export interface Ids {
  /** A UUID. */
  readonly uuid: (cause: string, step: string | number) => string;
  /** Of a referral or reward of this account. */
  readonly within: (cause: string) => string;
  /** Of the reward that a rule grants for an event. */
  readonly rewardOfEvent: (userEventId: string, programId: string, rule: string) => string;
  /** Replaces a user id where the plain one must not stay. */
  readonly userRef: (userId: string) => string;
  /** Replaces the idempotency key of a batch. */
  readonly batchRef: (userId: string, idempotencyKey: string) => string;
  /** Replaces the client's id of a user's event. */
  readonly eventRef: (userId: string, eventId: string) => string;
  /** Replaces a value of a person's event. */
  readonly valueRef: ValueRef;
}
