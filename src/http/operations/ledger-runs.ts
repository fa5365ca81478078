import type { DigestDocument } from '../../chain/digest-document.js';
import type { Core } from '../../stores/core.js';
import type { Scope } from '../../domain/scope.js';
import type { Done } from '../../operations/audited.js';
import { digestOnRecord } from '../../operations/ledger/ledger-digest.js';
import {
  reconcileOnRecord,
  type ReconciliationRequest,
} from '../../operations/ledger/ledger-reconciliation.js';
import { replayOnRecord, type ReplayRequest } from '../../operations/ledger/ledger-replay.js';
import { verifyOnRecord } from '../../operations/ledger/ledger-verification.js';
import type { Outcome } from '../../operations/outcome.js';
import type { RunContext } from './operation-runs.js';

/** An operation on a tenant's ledger that may take long, the same over HTTP and in the console. */
export interface LedgerRun {
  /** The command's name on the command line: `ledger replay`. */
  readonly operation: string;
  /** Shown with the run: its arguments, without files. */
  readonly parameters: object;
  readonly work: (core: Core, context: RunContext) => Promise<Outcome<Done<unknown>>>;
}

/** How long an unreachable log is retried; the operation can be started again. */
const AWAY_MS_MAX = 60_000;

export const replayRun = (scope: Scope, request: ReplayRequest): LedgerRun => {
  const { accountId: account, ...selection } = request;
  return {
    operation: 'ledger replay',
    parameters: { ...selection, ...(account === undefined ? {} : { account }) },
    work: (core, { signal, giveWay, onProgress }) =>
      replayOnRecord(core, scope, request, {
        signal,
        giveWay,
        onProgress: (accounts, total) => onProgress('replaying', accounts, total),
      }),
  };
};

export const reconciliationRun = (scope: Scope, request: ReconciliationRequest): LedgerRun => {
  const { period, against } = request;
  return {
    operation: 'ledger reconcile',
    parameters: { period, againstFile: against !== undefined },
    work: (core, { signal, giveWay, onProgress }) =>
      reconcileOnRecord(core, scope, request, {
        signal,
        giveWay,
        onProgress: (accounts) => onProgress('reconciling', accounts),
      }),
  };
};

/** @param outside an earlier digest of this chain. */
export const verificationRun = (scope: Scope, outside: DigestDocument | undefined): LedgerRun => ({
  operation: 'ledger verify',
  parameters: { digest: outside?.digest },
  work: (core, { signal, giveWay, onProgress }) =>
    verifyOnRecord(core, { scope, outside, signal, giveWay, awayMsMax: AWAY_MS_MAX, onProgress }),
});

export const digestRun = (scope: Scope, sign: boolean): LedgerRun => ({
  operation: 'ledger digest',
  parameters: { sign },
  work: (core, { signal, onProgress }) =>
    digestOnRecord(core, {
      scope,
      sign,
      signal,
      onProgress: (events) => onProgress('sealing', events),
    }),
});
