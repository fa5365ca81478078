import type { Pool } from 'pg';
import {
  beginSending,
  claimDue,
  countOfDay,
  planMail,
  purgeMails,
  recordOutcome,
  settleLost,
  type ClaimedMail,
  type ClaimRoom,
  type MailClaim,
  type Outcome,
  type PlannedMail,
} from './mail-rows.js';

/** What planning and sending mails store. Every method throws while the store is unavailable. */
export interface MailStore {
  /** @param dueAt epoch milliseconds. @returns false: the mail is there already. */
  plan(mail: PlannedMail, dueAt: number): Promise<boolean>;
  /** Claims due mails of the tenants in turn. A claim ends with its time, or with its process. */
  claimDue(room: ClaimRoom): Promise<readonly ClaimedMail[]>;
  /**
   * Counts a mail to an address, named by a keyed digest of the day.
   * @returns false: the address has received as many as a day allows.
   */
  countOfDay(tenant: string, address: string): Promise<boolean>;
  /**
   * From here on the mail may have been sent, whatever happens to this process.
   * @returns false: the claim has lapsed, and the mail must not be sent.
   */
  beginSending(id: string, process: number): Promise<boolean>;
  /**
   * What is no longer the process's own stays as it is; so does a later attempt of its own, if this
   * change takes effect late.
   */
  recordOutcome(claim: MailClaim, outcome: Outcome): Promise<void>;
  /** Ends mails in whose sending a process ended. @returns how many. */
  settleLost(process: number): Promise<number>;
  /** Deletes what ended before. @returns how many. */
  purge(before: Date, limit: number): Promise<number>;
}

export const postgresMailStore = (pool: Pool): MailStore => ({
  plan: (mail, dueAt) => planMail(pool, mail, dueAt),
  claimDue: (room) => claimDue(pool, room),
  countOfDay: (tenant, address) => countOfDay(pool, tenant, address),
  beginSending: (id, process) => beginSending(pool, id, process),
  recordOutcome: (claim, outcome) => recordOutcome(pool, claim, outcome),
  settleLost: (process) => settleLost(pool, process),
  purge: (before, limit) => purgeMails(pool, before, limit),
});
