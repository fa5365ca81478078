import type { Pool } from 'pg';
import type { TenantDirectory } from '../../tenants/tenant-directory.js';
import { UnreadableEvent } from '../../event-log/event-schemas.js';
import type { Logger } from '../../foundation/logger.js';
import { backOffMs, pause } from '../../foundation/pause.js';
import { WorkLoop } from '../../foundation/work-loop.js';
import { timeNow } from '../../foundation/world.js';
import { describeFailure } from '../../reacting/describe-failure.js';
import type { ProcessPresence } from '../../postgres/process-presence.js';
import type { AddressedMails } from '../content/addressed-mails.js';
import type { mimeOf } from '../sending/mime.js';
import type { Sent, SmtpSender } from '../sending/smtp-sender.js';
import { retryInMs, TOLD_WITHIN_MS } from './mail-retries.js';
import {
  beginSending,
  claimDue,
  countOfDay,
  DAILY_LIMIT,
  purgeMails,
  recordOutcome,
  settleLost,
  type ClaimedMail,
  type Outcome,
} from './mail-rows.js';

export interface MailSenderParts {
  readonly pool: Pool;
  readonly tenants: Pick<TenantDirectory, 'read'>;
  readonly mails: Pick<AddressedMails, 'make'>;
  /** Makes the bytes of a mail. */
  readonly compose: typeof mimeOf;
  readonly smtp: Pick<SmtpSender, 'send'>;
  readonly presence: Pick<ProcessPresence, 'id'>;
  readonly logger: Pick<Logger, 'warn'>;
  readonly onOutcome?: (outcome: MailOutcome) => void;
}

/** For metrics. */
export type MailOutcome = Outcome['kind'];

/** Conversations at once, of this process and of one tenant in it. */
const AT_ONCE = 8;
const AT_ONCE_OF_TENANT = 4;
const RETRY = { first: 100, max: 5_000 };
const AWAY_MS = 5_000;
const SUSPENDED_MS = 60_000;
const UNREADABLE_MS = 600_000;
const LOST_EVERY_MS = 2_000;
const PURGE_EVERY_MS = 3_600_000;
const PURGE_MORE_MS = 250;
const PURGE_AT_ONCE = 1_000;
const KEPT_MS = 30 * 24 * 3_600_000;

/** What came of a claim, and the mail's attempts then. */
interface Ended {
  readonly outcome: Outcome;
  readonly attempts: number;
}

/**
 * Sends what is due, at most once: before a conversation begins the mail is marked, and what a
 * crash leaves marked is not sent again by itself. Any number of processes share the work.
 */
export class MailSender {
  readonly loop: WorkLoop;
  private lastTenant = '';

  constructor(private readonly parts: MailSenderParts) {
    this.loop = new WorkLoop({
      take: () => this.claim(),
      beside: [
        { work: () => this.settle(), everyMs: LOST_EVERY_MS },
        { work: () => this.purge(), everyMs: PURGE_EVERY_MS, moreMs: PURGE_MORE_MS },
      ],
      describe: describeFailure,
    });
  }

  private async claim(): Promise<number> {
    const { underWay } = this.loop;
    const room = AT_ONCE - underWay.length;
    if (room <= 0) return 0;
    const { pool, presence } = this.parts;
    const claimed = await claimDue(pool, {
      mails: room,
      ofTenant: AT_ONCE_OF_TENANT,
      underWay,
      after: this.lastTenant,
      process: presence.id,
    });
    for (const mail of claimed) {
      this.lastTenant = mail.tenant;
      this.loop.carry(this.attempt(mail), mail.tenant);
    }
    return claimed.length;
  }

  /** Never rejects: what cannot be recorded is settled when its claim lapses. */
  private async attempt(mail: ClaimedMail): Promise<void> {
    const { pool, presence, logger, onOutcome } = this.parts;
    try {
      const ended = await this.end(mail);
      if (ended === undefined) return;
      const { outcome, attempts } = ended;
      const claim = { id: mail.id, process: presence.id, attempts };
      await again(() => recordOutcome(pool, claim, outcome));
      onOutcome?.(outcome.kind);
    } catch (error) {
      logger.warn({ error: describeFailure(error) }, 'what came of a mail is not recorded');
    }
  }

  /** Undefined: it is no longer this process's. */
  private async end(mail: ClaimedMail): Promise<Ended | undefined> {
    const { pool, presence, smtp } = this.parts;
    const ready = await this.ready(mail).catch((error: unknown): Outcome => {
      if (error instanceof UnreadableEvent)
        return postponed(mail, 'an event of the account cannot be read', UNREADABLE_MS);
      this.loop.failed(error);
      return { kind: 'postponed', reason: 'the ledger could not be read', inMs: AWAY_MS };
    });
    if ('kind' in ready) return { outcome: ready, attempts: mail.attempts };
    this.loop.worked();
    if (!(await beginSending(pool, mail.id, presence.id))) return undefined;
    const attempts = mail.attempts + 1;
    return { outcome: outcomeOfSent(await smtp.send(ready), attempts), attempts };
  }

  private async ready(
    mail: ClaimedMail,
  ): Promise<Outcome | { readonly from: string; readonly to: string; readonly bytes: Buffer }> {
    const { tenants, mails, compose, pool } = this.parts;
    const tenant = await tenants.read(mail.tenant);
    if (tenant === undefined) return { kind: 'not-sent', reason: 'the tenant is unknown' };
    if (tenant.suspended !== null) return postponed(mail, 'the tenant is suspended', SUSPENDED_MS);
    const made = await mails.make(tenant, mail);
    if (made.kind === 'not-sent') return { kind: 'not-sent', reason: `not sent: ${made.reason}` };
    const { sender, to, messageId, unsubscribeUrl, rendered, countedAs } = made.mail;
    // Retries are counted once, and an operator may send one above the limit again.
    const isCounted = mail.attempts === 0 && mail.reason !== DAILY_LIMIT;
    if (countedAs !== null && isCounted && !(await countOfDay(pool, mail.tenant, countedAs)))
      return { kind: 'not-sent', reason: DAILY_LIMIT };
    const date = new Date(timeNow());
    const bytes = await compose(rendered, { sender, to, messageId, unsubscribeUrl, date });
    return { from: sender.envelope, to, bytes };
  }

  private async settle(): Promise<number> {
    const { pool, presence, onOutcome } = this.parts;
    const settled = await settleLost(pool, presence.id);
    for (let one = 0; one < settled; one += 1) onOutcome?.('unknown');
    return settled;
  }

  private purge(): Promise<number> {
    return purgeMails(this.parts.pool, new Date(timeNow() - KEPT_MS), PURGE_AT_ONCE);
  }
}

/** What has waited for a week is no news; a reward that expires is looked at when it is sent. */
function postponed({ type, created }: ClaimedMail, reason: string, inMs: number): Outcome {
  return type !== 'REWARD_EXPIRES_SOON' && created < timeNow() - TOLD_WITHIN_MS
    ? { kind: 'not-sent', reason: `not sent: for a week ${reason}` }
    : { kind: 'postponed', reason, inMs };
}

function outcomeOfSent(sent: Sent, attempts: number): Outcome {
  switch (sent.kind) {
    case 'taken':
      return { kind: 'delivered' };
    case 'unknown':
      return { kind: 'unknown', reason: sent.reason };
    case 'refused':
      return { kind: 'refused', reason: sent.reason };
    case 'failed':
      return { kind: 'failed', reason: sent.reason, inMs: retryInMs(attempts) };
  }
}

const TRIES = 5;

/** A database that is away for a moment must not make a sent mail an unknown one. */
async function again(work: () => Promise<unknown>): Promise<void> {
  for (let tries = 1; ; tries += 1) {
    try {
      await work();
      return;
    } catch (error) {
      if (tries === TRIES) throw error;
      await pause(backOffMs(tries, RETRY));
    }
  }
}
