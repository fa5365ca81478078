import type { Operation } from '../registry/operation.js';
import { correctionOperations } from './correction.operations.js';
import { ledgerChecks } from './ledger-check.operations.js';
import { statementOperations } from './statement.operations.js';

export const operations: readonly Operation[] = [
  ...statementOperations,
  ...correctionOperations,
  ...ledgerChecks,
];
