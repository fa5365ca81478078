import { PROPOSAL_LIFE_MS } from '../domain/proposal/proposal.decider.js';

const DAY_MS = 24 * 60 * 60 * 1000;

/** The days (`YYYY-MM-DD`, UTC) whose proposals may be approved now, newest first. */
export function proposalDays(now: number): readonly string[] {
  const count = PROPOSAL_LIFE_MS / DAY_MS + 1;
  return Array.from({ length: count }, (_, back) =>
    new Date(now - back * DAY_MS).toISOString().slice(0, 10),
  );
}
