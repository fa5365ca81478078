import { sql } from 'kysely';
import type { Pool } from 'pg';
import type { Scope } from '../../domain/scope.js';
import { fetchRows, run } from '../../postgres/statements.js';

/** What operators see of mails, and what they can do about them. Nobody is named. */

export const MAIL_STATES = ['PENDING', 'DELIVERED', 'DEAD', 'UNKNOWN'] as const;
export type MailState = (typeof MAIL_STATES)[number];

export interface KnownMail {
  readonly id: string;
  readonly eventId: string;
  readonly type: string;
  readonly state: MailState;
  readonly attempts: number;
  readonly nextAttemptAt: Date | null;
  readonly reason: string | null;
  readonly created: Date;
}

export interface MailFilter {
  readonly state?: MailState | undefined;
  readonly limit: number;
}

/** Newest first. One that is being sent counts as pending. */
export function listMails(
  pool: Pool,
  { tenant, mode }: Scope,
  { state, limit }: MailFilter,
): Promise<readonly KnownMail[]> {
  const states = state === 'PENDING' ? ['PENDING', 'SENDING'] : state && [state];
  return fetchRows(
    pool,
    sql<KnownMail>`
      select id, event_id as "eventId", type,
        case state when 'SENDING' then 'PENDING' else state end as state,
        attempts, next_attempt_at as "nextAttemptAt", reason, created
      from ledger.mail_deliveries
      where tenant = ${tenant} and mode = ${mode}
        and (${states ?? null}::text[] is null or state = any(${states ?? null}::text[]))
      order by created desc, id limit ${limit}`,
  );
}

/** An ended mail is due again, with the same `Message-ID`. @returns false: none such has ended. */
export async function resendMail(
  pool: Pool,
  { tenant, mode }: Scope,
  id: string,
): Promise<boolean> {
  const resent = await run(
    pool,
    sql`
      update ledger.mail_deliveries
      set state = 'PENDING', next_attempt_at = now(), retried_until = null, ended_at = null,
        reason = null
      where id = ${id} and tenant = ${tenant} and mode = ${mode}
        and state in ('DELIVERED', 'DEAD', 'UNKNOWN')`,
  );
  return resent > 0;
}

/** Whether there is such a mail. */
export async function mailExists(pool: Pool, { tenant, mode }: Scope, id: string) {
  const rows = await fetchRows(
    pool,
    sql`select 1 from ledger.mail_deliveries
      where id = ${id} and tenant = ${tenant} and mode = ${mode}`,
  );
  return rows.length > 0;
}
