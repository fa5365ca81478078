import type { Pool } from 'pg';
import { accountProjectors } from '../../projections/account-projectors.js';
import { LiveReads } from '../projecting/following/live-reads.js';
import {
  LiveGenerations,
  ReadModelsIncomplete,
} from '../projecting/generations/live-generations.js';
import { readModelsBeingRebuilt } from './outcome.js';

/** What the queries of a read model answer. @throws {NotDone} while it is being rebuilt. */
export async function readFrom<Tables, Queries, T>(
  { pool }: { readonly pool: Pool },
  readModel: string,
  queriesOf: new (reads: LiveReads<Tables>) => Queries,
  query: (queries: Queries) => Promise<T>,
): Promise<T> {
  const generations = new LiveGenerations(pool, accountProjectors);
  const reads = new LiveReads<Tables>(pool, generations, readModel);
  try {
    return await query(new queriesOf(reads));
  } catch (error) {
    throw error instanceof ReadModelsIncomplete ? readModelsBeingRebuilt() : error;
  }
}
