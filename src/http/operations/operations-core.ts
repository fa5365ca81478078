import type { Pool } from 'pg';
import type { CurrentOperators } from '../../config/operators.js';
import type { Core } from '../../stores/core.js';
import type { OperatorAnswers } from '../../operations/operator-keys.js';

/** The dependencies of operations over HTTP, injectable. */
export class OperationsCore {
  constructor(
    readonly core: Core,
    /** For operations on read models. */
    readonly pool: Pool,
    readonly warn: (line: string) => void,
    readonly answers: OperatorAnswers,
    /** They may approve corrections. */
    readonly operators: CurrentOperators,
  ) {}
}
