import type { Pool } from 'pg';
import { accountProjectors } from '../../projections/account-projectors.js';
import { LiveReads } from '../projecting/following/live-reads.js';
import {
  LiveGenerations,
  ReadModelsIncomplete,
} from '../projecting/generations/live-generations.js';
import { readModelsBeingRebuilt } from './outcome.js';

/** What read models answer; refused while they are being rebuilt. */
export const unlessRebuilt = <T>(answer: Promise<T>): Promise<T> =>
  answer.catch((error: unknown) => {
    if (error instanceof ReadModelsIncomplete) throw readModelsBeingRebuilt();
    throw error;
  });

/** What the queries of a read model answer. @throws {NotDone} while it is being rebuilt. */
export async function readFrom<Tables, Queries, T>(
  { pool }: { readonly pool: Pool },
  readModel: string,
  queriesOf: new (reads: LiveReads<Tables>) => Queries,
  query: (queries: Queries) => Promise<T>,
): Promise<T> {
  const generations = new LiveGenerations(pool, accountProjectors);
  const reads = new LiveReads<Tables>(pool, generations, readModel);
  return unlessRebuilt(query(new queriesOf(reads)));
}
