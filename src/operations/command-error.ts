import { OperatorRefusal, type Sentence } from '../foundation/operator-refusal.js';

/**
 * What went wrong, in one line for the operator; nothing changed. Exit 1; 2 for a difference that
 * was found, 3 for a broken chain.
 */
export class CommandError extends OperatorRefusal {
  override readonly name = 'CommandError';
  constructor(
    said: string | Sentence,
    readonly exitCode: 1 | 2 | 3 = 1,
  ) {
    super(said);
  }
}
