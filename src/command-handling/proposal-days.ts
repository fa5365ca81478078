import { PROPOSAL_LIFE_MS } from '../domain/proposal/proposal.decider.js';

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
