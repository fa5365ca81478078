import type { Personal } from '../personal.js';
import type { Decision } from '../decision.js';

/**
 * An operator's action on a tenant's ledger, or access to it, in its own stream: it is no fact of
 * an account and must neither conflict with commands nor lengthen their streams.
 */
export interface OperationEvent {
  readonly type: 'OperationRecorded';
  readonly at: number;
  /** The command's name: `ledger statement`. */
  readonly operation: string;
  readonly by: Personal<string>;
  /** Without personal data: ids of accounts and users as keyed hashes, files as digests. */
  readonly parameters: Readonly<Record<string, string>>;
  /** SHA-256 of the result in canonical JSON, hex. */
  readonly resultDigest: string;
  /** Free text of the operator, encrypted for the person it is about. */
  readonly reason?: Personal<string>;
}

export interface RecordOperation extends Omit<OperationEvent, 'type' | 'at'> {
  readonly now: number;
}

/** Each action counts, repeated ones too. */
export const decide = ({ now, ...operation }: RecordOperation): Decision<OperationEvent> => ({
  events: [{ type: 'OperationRecorded', at: now, ...operation }],
});
