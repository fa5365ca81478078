import type { Pool } from 'pg';
import type { Operators } from '../../config/operators.js';
import type { Core } from '../../core/core.js';
import type { OperatorAnswers } from '../../operations/operator-keys.js';

/** What the operations over HTTP stand on, as something that can be injected. */
export class OperationsCore {
  constructor(
    readonly core: Core,
    /** For operations on read models, all together. */
    readonly pool: Pool,
    /** Leaves a line in the log of the service. */
    readonly warn: (line: string) => void,
    readonly answers: OperatorAnswers,
    /** Who may approve a correction. */
    readonly operators: Pick<Operators, 'has'>,
  ) {}
}
