import type { Pool } from 'pg';
import type { AccountRef } from '../../domain/scope.js';
import { elapsed } from '../../foundation/world.js';
import { accountRefOf } from '../../privacy/keyed-names.js';
import { allUnreadableStreams } from '../checkpoints.js';

/** Read models record an unreadable account; this process learns of it within this time. */
const REMEMBERED_MS = 1_000;

/**
 * The accounts with an event that the read models could not decode. Their rows end before that
 * event. Read when somebody asks, at most once a second.
 */
export class UnreadableAccounts {
  private accounts: Promise<ReadonlySet<AccountRef>> | undefined;
  private readAtMs = 0;

  constructor(private readonly pool: Pool) {}

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
    const streams = await allUnreadableStreams(this.pool);
    return new Set(streams.map(accountRefOf).filter((account) => account !== undefined));
  }
}
