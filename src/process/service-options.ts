import type { Logger } from 'pino';
import type { Config } from '../config/config.js';
import { defaultFrom } from '../mails/sender-address.js';
import type { Core } from '../stores/core.js';

export interface ServiceOptions {
  readonly config: Config;
  readonly logger: Logger;
  readonly version: string;
  /** False for benchmarks and tests of the embedded server. */
  readonly fsync?: boolean;
  /** Called when the service listens, before it is ready. */
  readonly onListening?: (core: Core, at: Listening) => Promise<void>;
}

export interface Listening {
  readonly url: string;
  /** Address of health, metrics and console; undefined: they use `url`. */
  readonly operationsUrl?: string;
}

/** The addresses of this service as clients and mails show them. */
export class Address {
  /** Empty before it listens without PUBLIC_URL. */
  url: string;

  constructor(private readonly config: Pick<Config, 'publicUrl' | 'mailFrom'>) {
    this.url = config.publicUrl ?? '';
  }

  readonly publicUrl = (): string => this.url;

  readonly mailFrom = (): string => this.config.mailFrom ?? defaultFrom(this.url);
}
