import type { Pool } from 'pg';
import type { CurrentOperators } from '../../config/operators.js';
import type { Core } from '../../stores/core.js';
import type { OperatorAnswers } from '../../operations/operator-keys.js';

/** The dependencies of the operations over HTTP, as an injectable class. */
export class OperationsCore {
  constructor(
    readonly core: Core,
    /** For all operations on read models. */
    readonly pool: Pool,
    /** Writes a line to the service's log. */
    readonly warn: (line: string) => void,
    readonly answers: OperatorAnswers,
    /** The operators who may approve a correction. */
    readonly operators: CurrentOperators,
  ) {}
}
