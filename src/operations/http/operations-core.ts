import type { Core } from '../../core.js';

/** The core, as something that can be injected. */
export class OperationsCore {
  constructor(readonly core: Core) {}
}
