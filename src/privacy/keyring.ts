import { elapsed } from '../foundation/world.js';
import type { FixedPurpose, KeyPurpose, RotatedPurpose } from './master-key.js';
import { generationIn, openNamed, sealWith, type Sealer } from './sealed-bytes.js';

/** The keys of each purpose, by generation from 1. */
export type ServiceKeys = ReadonlyMap<KeyPurpose, readonly Buffer[]>;

/** Age of the keys in memory at which sealing reads them again, to use those of a rotation. */
export const KEYS_FRESH_MS = 2_000;

/** Bytes name a key that this process cannot read, even after reading the keys again. */
export class UnknownKey extends Error {
  override readonly name = 'UnknownKey';
  constructor() {
    super('a value is sealed with a key that this master key does not open');
  }
}

/** The service's keys in memory. They are read again when a value names an unknown one. */
export class Keyring {
  private readAt = elapsed();
  private reading: Promise<void> | undefined;

  /** @param read the keys that this process's master key opens. */
  constructor(
    private known: ServiceKeys,
    private readonly read: () => Promise<ServiceKeys>,
  ) {}

  /** The one key of a purpose whose key is never replaced. */
  fixed(purpose: FixedPurpose): Buffer {
    return this.key(purpose, 1);
  }

  /** Number of keys of the purpose so far; the newest seals. */
  generation(purpose: RotatedPurpose): number {
    return this.known.get(purpose)?.length ?? 0;
  }

  sealer(purpose: RotatedPurpose): Sealer {
    return {
      seal: async (plain, context) => {
        // While the database is unavailable, the known key serves: it is re-wrapped later.
        if (elapsed() - this.readAt > KEYS_FRESH_MS) await this.refresh().catch(() => undefined);
        const generation = this.generation(purpose);
        return sealWith(this.key(purpose, generation), generation, plain, context);
      },
      open: async (sealed, context) => {
        const generation = generationIn(sealed);
        if (generation > this.generation(purpose)) await this.refresh();
        return openNamed(this.key(purpose, generation), sealed, context);
      },
    };
  }

  /** Reads the keys again; concurrent callers share one read. */
  refresh(): Promise<void> {
    this.reading ??= this.readAgain().finally(() => (this.reading = undefined));
    return this.reading;
  }

  private async readAgain(): Promise<void> {
    const began = elapsed();
    const keys = await this.read();
    // None: the master key was replaced meanwhile, and the known keys stay valid.
    if (keys.size > 0) this.known = keys;
    this.readAt = began;
  }

  private key(purpose: KeyPurpose, generation: number): Buffer {
    const key = this.known.get(purpose)?.[generation - 1];
    if (key === undefined) throw new UnknownKey();
    return key;
  }
}
