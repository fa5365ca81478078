import type { Pool } from 'pg';
import type { AccountRef } from '../../domain/scope.js';
import { keptCall } from '../../foundation/single-flight.js';
import { accountRefOf } from '../../privacy/keyed-names.js';
import { allUnreadableStreams } from '../checkpoints.js';
import type { ReadModel } from '../generations/generations.js';

/** How long a newly recorded unreadable account may be missing here. */
const REMEMBERED_MS = 1_000;

/** The accounts whose rows end before an unreadable event. @throws the database's errors. */
export const unreadableAccounts = (
  pool: Pool,
  readModels: readonly ReadModel[],
): (() => Promise<ReadonlySet<AccountRef>>) =>
  keptCall(REMEMBERED_MS, async () => {
    const streams = await allUnreadableStreams(pool, readModels);
    return new Set(streams.map(accountRefOf).filter((account) => account !== undefined));
  });
