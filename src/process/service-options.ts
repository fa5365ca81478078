import type { Logger } from 'pino';
import type { Config } from '../config/config.js';
import type { Core } from '../core/core.js';

export interface ServiceOptions {
  readonly config: Config;
  readonly logger: Logger;
  readonly version: string;
  /** False for benchmarks and tests of the embedded server. */
  readonly fsync?: boolean;
  /** Handles that accept connections of clients. Default: one for each address. */
  readonly acceptorsPerAddress?: number;
  /** Called after the stores are open and before the service listens. */
  readonly prepare?: (core: Core) => Promise<void>;
}

/** The service's address; empty until it listens. */
export interface Address {
  url: string;
}
