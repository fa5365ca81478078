import { ActivityQueries } from '../../../projections/activity/queries.js';
import type { AccountEventOf, PersonId } from '../../domain/account/account.events.js';
import type { Scope } from '../../domain/scope.js';
import type { Decoded } from '../../event-log/codec.js';
import type { Core } from '../../stores/core.js';
import { decodedIn } from '../ledger/ledger-entries.js';
import { readFrom } from '../rebuilt-read-models.js';
import type { AccountHistory } from './account-history.js';
import { actorInWords } from './actor-in-words.js';

const OPERATIONS = new Map([
  ['UserBlocked', 'user block'],
  ['UserUnblocked', 'user unblock'],
]);
const TYPES: ReadonlySet<string> = new Set(OPERATIONS.keys());
/** An operation is recorded after its event: by then. */
const RECORDED_WITHIN_MS = 60_000;

/** Who blocked a person, or ended the block, and why. */
export interface Block {
  readonly person: PersonId;
  /** Epoch milliseconds. */
  readonly at: number;
  readonly by: string;
  /** Null: none was given, or it is erased. */
  readonly reason: string | null;
}

/**
 * Blocks of an account's people and their ends by event id, in order. The reason is part of the
 * recorded operation, which is found by its person and time. Empty for accounts without blocks.
 */
export async function blocksIn(
  core: Pick<Core, 'log' | 'codec' | 'names' | 'pool' | 'tenants'>,
  scope: Scope,
  { account, people, events }: AccountHistory,
): Promise<ReadonlyMap<string, Block>> {
  const isAny =
    people.some(({ blockedSince }) => blockedSince !== null) ||
    events.some(({ type }) => TYPES.has(type));
  if (!isAny) return new Map();
  const stream = core.names.accountStream(scope, core.names.accountRef(scope, account));
  const found: Decoded[] = [];
  for await (const decoded of decodedIn(core, stream, TYPES)) found.push(decoded);
  const persons = found.map((decoded) => blockOf(decoded).person);
  const operations = await readFrom(core, 'activity', ActivityQueries, (queries) =>
    queries.about(persons, [...OPERATIONS.values()]),
  );
  return new Map(
    found.map((decoded) => {
      const { id, recordedAt } = decoded.recorded;
      const { person, at } = blockOf(decoded);
      const operation = operations.find(
        (row) =>
          row.about === person &&
          row.operation === OPERATIONS.get(decoded.event.type) &&
          row.at >= recordedAt &&
          row.at < recordedAt + RECORDED_WITHIN_MS,
      );
      return [id, { person, at, by: actorInWords(decoded), reason: operation?.reason ?? null }];
    }),
  );
}

const blockOf = ({ event }: Decoded) => event as AccountEventOf<'UserBlocked' | 'UserUnblocked'>;
