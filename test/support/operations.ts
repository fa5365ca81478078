import {
  onProjections,
  openOperationsPool,
  type ProjectionOperator,
} from '../../src/operations/projections/projection-operator.js';
import { operatorMeta, type StaffMeta } from '../../src/operations/audit.js';
import type { Done } from '../../src/operations/audited.js';
import * as adjustment from '../../src/operations/ledger/ledger-adjustment.js';
import * as digest from '../../src/operations/ledger/ledger-digest.js';
import * as ledgerExport from '../../src/operations/ledger/ledger-export.js';
import * as reconciliation from '../../src/operations/ledger/ledger-reconciliation.js';
import * as replay from '../../src/operations/ledger/ledger-replay.js';
import * as statement from '../../src/operations/ledger/ledger-statement.js';
import * as verification from '../../src/operations/ledger/ledger-verification.js';
import * as loss from '../../src/operations/ledger/loss-acknowledgement.js';
import * as logCopy from '../../src/operations/log/log-copy.js';
import * as logMove from '../../src/operations/log/log-move.js';
import {
  NotDone,
  outcomeOf,
  type OperationRefusalCode,
  type Outcome,
} from '../../src/operations/outcome.js';

/** Operations for tests that expect a document: a refusal fails them, by its code and its text. */

export class Refused extends Error {
  readonly code: OperationRefusalCode;

  constructor(refusal: NotDone) {
    super(refusal.text());
    this.code = refusal.code;
  }
}

export function done<T>(outcome: Outcome<T>): T {
  if (outcome instanceof NotDone) throw new Refused(outcome);
  return outcome;
}

export const insisting =
  <A extends unknown[], T>(operation: (...asked: A) => Promise<T>) =>
  async (...asked: A): Promise<T> =>
    done(await outcomeOf(() => operation(...asked)));

/** Without what the audit event contains. */
const resultOf =
  <A extends unknown[], T>(operation: (...asked: A) => Promise<Done<T>>) =>
  async (...asked: A): Promise<T> =>
    (await insisting(operation)(...asked)).result;

export const adjustLedger = resultOf(adjustment.adjustWithAudit);
export const adjustWithAudit = insisting(adjustment.adjustWithAudit);
export const ledgerDigest = insisting(digest.ledgerDigest);
export const exportLedger = insisting(ledgerExport.exportLedger);
export const reconcileLedger = resultOf(reconciliation.reconcileLedger);
export const replayLedger = resultOf(replay.replayLedger);
export const statementOfAccount = resultOf(statement.statementOfAccount);
export const verifyLedger = insisting(verification.verifyLedger);
export const acknowledgeLoss = insisting(loss.acknowledgeLoss);
export const copyLog = insisting(logCopy.copyLog);
export const copyWholeLog = insisting(logMove.copyWholeLog);

export const metaBy = (
  name: string,
  core: Parameters<typeof operatorMeta>[0],
  scope: StaffMeta['scope'],
  operation = 'test',
): StaffMeta => operatorMeta(core, scope, { name, channel: 'cli' }, operation);

/** Runs the work on read models with connections of its own, as the command line does. */
export async function withProjections<T>(
  core: Parameters<typeof onProjections>[0] & Parameters<typeof openOperationsPool>[0],
  caller: Parameters<typeof onProjections>[2],
  work: (operator: ProjectionOperator) => Promise<T>,
): Promise<T> {
  const pool = openOperationsPool(core, 10);
  try {
    return await onProjections(core, pool, caller, work);
  } finally {
    await pool.end();
  }
}
