import type { CommandMeta } from '../event-log/envelope.js';
import type { KeyedNames } from '../privacy/keyed-names.js';
import { timeNow } from '../foundation/world.js';
import { PROPOSAL_LIFE_MS } from '../domain/proposal/proposal.decider.js';
import type { ReadableStreams } from './readable-streams.js';

const DAY_MS = 24 * 60 * 60 * 1000;

/** The days (`YYYY-MM-DD`, UTC) up to now, newest first. @param since epoch milliseconds. */
export function daysSince(since: number, now: number): readonly string[] {
  const count = Math.floor(now / DAY_MS) - Math.floor(since / DAY_MS) + 1;
  return Array.from({ length: Math.max(1, count) }, (_, back) =>
    new Date(now - back * DAY_MS).toISOString().slice(0, 10),
  );
}

/** Those whose proposals may be approved now. */
export const proposalDays = (now: number): readonly string[] =>
  daysSince(now - PROPOSAL_LIFE_MS, now);

/** The day on which an earlier attempt with the command's key was recorded; undefined: none was. */
export async function dayOfEarlierAttempt(
  {
    streams,
    names,
  }: { readonly streams: Pick<ReadableStreams, 'proposals'>; readonly names: KeyedNames },
  meta: CommandMeta,
): Promise<string | undefined> {
  if (meta.idempotency === null) return undefined;
  for (const day of proposalDays(timeNow())) {
    const { handled } = await streams.proposals.load(names.proposalsStream(meta.scope, day));
    if (handled.find(meta)) return day;
  }
  return undefined;
}
