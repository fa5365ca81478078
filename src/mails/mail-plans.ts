import type { Pool } from 'pg';
import { deterministicId } from '../command-handling/deterministic-id.js';
import type { TenantDirectory } from '../tenants/tenant-directory.js';
import type { DomainEvent } from '../domain/events.js';
import { CLOCK_AHEAD_MS_MAX } from '../event-log/clock.js';
import { timeNow } from '../foundation/world.js';
import type { Reaction } from '../reacting/policy.js';
import type { LedgerEvent } from '../projecting/projector.js';
import { PLANNED_WITHIN_MS } from './deliveries/mail-retries.js';
import { planMail } from './deliveries/mail-rows.js';

type MailReaction = Extract<Reaction, { kind: 'mail' }>;

/** Stores the mails of events, once per event, person and type. */
export class MailPlans {
  constructor(
    private readonly parts: {
      readonly pool: Pool;
      readonly tenants: Pick<TenantDirectory, 'read'>;
      readonly onPlanned: () => void;
    },
  ) {}

  /** Idempotent. @throws when the database or the log is unavailable. */
  async plan(event: LedgerEvent<DomainEvent>, reaction: MailReaction): Promise<void> {
    const { tenant: alias, mode, eventId, recordedAt, stream, revision } = event;
    if (recordedAt < timeNow() - PLANNED_WITHIN_MS) return;
    const tenant = await this.parts.tenants.read(alias);
    const since = tenant?.mails.types[reaction.type];
    if (since === undefined) return;
    const now = timeNow();
    // A test clock that was ahead switched the type on in the future: it counts as on.
    const isOfAheadClock = since > now + CLOCK_AHEAD_MS_MAX;
    if (!isOfAheadClock && recordedAt < since) return;
    const { type, account, person, about, dueAt, ledgerDate } = reaction;
    const id = deterministicId(eventId, `mail ${type} ${person}`);
    const planned = { id, tenant: alias, mode, type, account, person, about, created: recordedAt };
    const because = { stream, revision, eventId };
    const mail = { ...planned, event: because };
    const at = dueAt ?? Math.min(recordedAt, now);
    await planMail(this.parts.pool, mail, at, ledgerDate);
    this.parts.onPlanned();
  }
}
