import type { Pool } from 'pg';
import { accountProjectors } from '../../projections/account-projectors.js';
import { LiveReads } from '../projecting/following/live-reads.js';
import {
  LiveGenerations,
  ReadModelsIncomplete,
} from '../projecting/generations/live-generations.js';
import { NotDone, unlessRefused, type Outcome } from './outcome.js';

/** What read models answer; refused while they are being rebuilt. */
export const unlessRebuilt = <T>(answer: Promise<T>): Promise<Outcome<T>> =>
  answer.catch((error: unknown) => {
    if (error instanceof ReadModelsIncomplete)
      return new NotDone({ code: 'READ_MODELS_BEING_REBUILT' });
    throw error;
  });

/** What a read model answers, by its live generation. @throws {NotDone} while it is being rebuilt. */
export async function readFrom<T>(
  { pool }: { readonly pool: Pool },
  readModel: string,
  query: (reads: LiveReads) => Promise<T>,
): Promise<T> {
  const reads = new LiveReads(pool, new LiveGenerations(pool, accountProjectors), readModel);
  return unlessRefused(await unlessRebuilt(query(reads)));
}
