import type { Personal } from '../personal.js';
import type { Decision } from '../decision.js';

/**
 * An operator's action on a tenant's ledger, or access to it. In streams of their own: an access is
 * no fact of an account, and must neither conflict with commands nor lengthen their streams.
 */
export interface OperationEvent {
  readonly type: 'OperationRecorded';
  readonly at: number;
  /** The command's name: `ledger statement`. */
  readonly operation: string;
  readonly by: Personal<string>;
  /**
   * No personal data: ids of accounts and users as keyed hashes, files by the digest of their
   * contents.
   */
  readonly parameters: Readonly<Record<string, string>>;
  /** SHA-256 of the result in canonical JSON, hex. */
  readonly resultDigest: string;
  /**
   * The operator's own words, encrypted with the key of the person they are about. Absent: none
   * were asked for.
   */
  readonly reason?: Personal<string>;
}

export interface RecordOperation extends Omit<OperationEvent, 'type' | 'at'> {
  readonly now: number;
}

/** Every action counts, also a repeated one of the same operator. */
export const decide = ({ now, ...operation }: RecordOperation): Decision<OperationEvent> => ({
  events: [{ type: 'OperationRecorded', at: now, ...operation }],
});
