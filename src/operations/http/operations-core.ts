import type { Core } from '../../core.js';

/** The core, as something that can be injected. */
export class OperationsCore {
  constructor(
    readonly core: Core,
    /** Leaves a line in the log of the service. */
    readonly warn: (line: string) => void,
  ) {}
}
