import type { Pool } from 'pg';
import type { AccountRef } from '../../domain/scope.js';
import { elapsed } from '../../foundation/world.js';
import { accountRefOf } from '../../privacy/keyed-names.js';
import { allUnreadableStreams } from '../checkpoints.js';
import type { ReadModel } from '../generations/generations.js';

/** How long a newly recorded unreadable account may be missing here. */
const REMEMBERED_MS = 1_000;

/** Their rows end before that event. Read on demand, at most once a second. */
export class UnreadableAccounts {
  private accounts: Promise<ReadonlySet<AccountRef>> | undefined;
  private readAtMs = 0;

  constructor(
    private readonly pool: Pool,
    private readonly readModels: readonly ReadModel[],
  ) {}

  /** @throws the database's errors while it is unavailable. */
  async has(account: AccountRef): Promise<boolean> {
    return (await this.current()).has(account);
  }

  private current(): Promise<ReadonlySet<AccountRef>> {
    const now = elapsed();
    if (this.accounts !== undefined && now - this.readAtMs < REMEMBERED_MS) return this.accounts;
    this.readAtMs = now;
    const reading = this.read();
    this.accounts = reading;
    reading.catch(() => {
      if (this.accounts === reading) this.accounts = undefined;
    });
    return reading;
  }

  private async read(): Promise<ReadonlySet<AccountRef>> {
    const streams = await allUnreadableStreams(this.pool, this.readModels);
    return new Set(streams.map(accountRefOf).filter((account) => account !== undefined));
  }
}
