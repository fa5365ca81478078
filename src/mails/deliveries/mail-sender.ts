import type { Pool } from 'pg';
import type { TenantDirectory } from '../../command-handling/tenant-directory.js';
import type { Logger } from '../../foundation/logger.js';
import { backOffMs, pause } from '../../foundation/pause.js';
import { elapsed, timeNow } from '../../foundation/world.js';
import { describeFailure } from '../../policies/describe-failure.js';
import type { ProcessPresence } from '../../postgres/process-presence.js';
import { UnrenderableTemplate } from '../../templates/render-template.js';
import type { AddressedMails } from '../content/addressed-mails.js';
import { mimeOf } from '../sending/mime.js';
import type { Sent, SmtpSender } from '../sending/smtp-sender.js';
import {
  beginSending,
  claimDue,
  purgeMails,
  recordOutcome,
  settleLost,
  type ClaimedMail,
  type Outcome,
} from './mail-rows.js';
import { retryInMs } from './mail-retries.js';

export interface MailSenderParts {
  readonly pool: Pool;
  readonly tenants: Pick<TenantDirectory, 'read'>;
  readonly mails: Pick<AddressedMails, 'make'>;
  readonly smtp: Pick<SmtpSender, 'send'>;
  readonly presence: Pick<ProcessPresence, 'id'>;
  readonly logger: Pick<Logger, 'warn'>;
  readonly onOutcome?: (outcome: Outcome['kind']) => void;
}

/** Conversations at once, of this process and of one tenant in it. */
const AT_ONCE = 8;
const AT_ONCE_OF_TENANT = 4;
const POLL_MS = 250;
const RETRY = { first: 100, max: 5_000 };
const AWAY_MS = 5_000;
const SUSPENDED_MS = 60_000;
const LOST_EVERY_MS = 2_000;
const PURGE_EVERY_MS = 3_600_000;
const PURGE_AT_ONCE = 1_000;
const KEPT_MS = 30 * 24 * 3_600_000;

/**
 * Sends what is due, at most once: before a conversation begins the mail is marked, and what a
 * crash leaves marked is not sent again by itself. Any number of processes share the work.
 */
export class MailSender {
  private readonly stopping = new AbortController();
  private running: Promise<unknown> | undefined;
  private readonly underWay = new Map<Promise<void>, string>();
  private lastTenant = '';
  private readAt = 0;
  private wake: () => void = () => undefined;
  private hasNews = false;
  private problem: string | null = null;

  constructor(private readonly parts: MailSenderParts) {}

  start(): void {
    this.readAt = elapsed();
    this.running ??= Promise.all([this.send(), this.settle(), this.purge()]);
  }

  /** Conversations under way end, and are recorded. */
  async stop(): Promise<void> {
    this.stopping.abort();
    this.look();
    await this.running;
    await Promise.all(this.underWay.keys());
  }

  /** Something may be due. */
  look(): void {
    this.hasNews = true;
    this.wake();
  }

  /** For the health page: how long it could not read what is due. */
  status(): { readonly stillSeconds: number; readonly lastError: string | null } {
    const sends = this.running !== undefined && !this.stopping.signal.aborted;
    return {
      stillSeconds: sends ? (elapsed() - this.readAt) / 1_000 : 0,
      lastError: sends ? this.problem : null,
    };
  }

  private async send(): Promise<void> {
    const { signal } = this.stopping;
    for (let failures = 0; !signal.aborted;) {
      try {
        this.hasNews = false;
        const claimed = await this.claim();
        failures = 0;
        this.readAt = elapsed();
        this.problem = null;
        if (claimed === 0) await this.rest(POLL_MS);
      } catch (error) {
        this.problem = describeFailure(error);
        await this.rest(backOffMs(failures++, RETRY));
      }
    }
  }

  private async claim(): Promise<number> {
    const room = AT_ONCE - this.underWay.size;
    if (room <= 0) return 0;
    const { pool, presence } = this.parts;
    const claimed = await claimDue(pool, {
      mails: room,
      ofTenant: AT_ONCE_OF_TENANT,
      underWay: [...this.underWay.values()],
      after: this.lastTenant,
      process: presence.id,
    });
    for (const mail of claimed) {
      this.lastTenant = mail.tenant;
      const attempt: Promise<void> = this.attempt(mail).finally(() => {
        this.underWay.delete(attempt);
        this.look();
      });
      this.underWay.set(attempt, mail.tenant);
    }
    return claimed.length;
  }

  /** Never rejects: what cannot be recorded is settled when its claim lapses. */
  private async attempt(mail: ClaimedMail): Promise<void> {
    const { pool, presence, logger, onOutcome } = this.parts;
    try {
      const outcome = await this.outcomeOf(mail);
      if (outcome === undefined) return;
      await again(() => recordOutcome(pool, mail.id, presence.id, outcome));
      onOutcome?.(outcome.kind);
    } catch (error) {
      logger.warn({ error: describeFailure(error) }, 'what came of a mail is not recorded');
    }
  }

  /** Undefined: it is no longer this process's. */
  private async outcomeOf(mail: ClaimedMail): Promise<Outcome | undefined> {
    const { pool, presence, smtp } = this.parts;
    const ready = await this.ready(mail).catch((error: unknown): Outcome => {
      if (error instanceof UnrenderableTemplate)
        return { kind: 'dead', reason: 'a text of the theme cannot be rendered' };
      this.problem = describeFailure(error);
      return { kind: 'postponed', reason: 'the ledger could not be read', inMs: AWAY_MS };
    });
    if ('kind' in ready) return ready;
    if (!(await beginSending(pool, mail.id, presence.id))) return undefined;
    return outcomeOfSent(await smtp.send(ready), mail.attempts + 1);
  }

  private async ready(
    mail: ClaimedMail,
  ): Promise<Outcome | { readonly from: string; readonly to: string; readonly bytes: Buffer }> {
    const tenant = await this.parts.tenants.read(mail.tenant);
    if (tenant === undefined) return { kind: 'dead', reason: 'the tenant is unknown' };
    if (tenant.suspended !== null)
      return { kind: 'postponed', reason: 'the tenant is suspended', inMs: SUSPENDED_MS };
    const made = await this.parts.mails.make(tenant, mail);
    if (made.kind === 'not-sent') return { kind: 'dead', reason: `not sent: ${made.reason}` };
    const { from, to, messageId, unsubscribeUrl, rendered } = made.mail;
    const date = new Date(timeNow());
    const bytes = await mimeOf(rendered, { from, to, messageId, unsubscribeUrl, date });
    return { from: from.address, to, bytes };
  }

  /** Until something ended or was planned, or for so long. */
  private async rest(ms: number): Promise<void> {
    const waking = new AbortController();
    this.wake = () => waking.abort();
    if (!this.stopping.signal.aborted && !this.hasNews) await pause(ms, waking.signal);
    this.wake = () => undefined;
  }

  private async settle(): Promise<void> {
    const { signal } = this.stopping;
    const { pool, presence } = this.parts;
    while (!signal.aborted) {
      await settleLost(pool, presence.id).catch(() => 0);
      await pause(LOST_EVERY_MS, signal);
    }
  }

  private async purge(): Promise<void> {
    const { signal } = this.stopping;
    while (!signal.aborted) {
      const before = new Date(timeNow() - KEPT_MS);
      const purged = await purgeMails(this.parts.pool, before, PURGE_AT_ONCE).catch(() => 0);
      await pause(purged > 0 ? POLL_MS : PURGE_EVERY_MS, signal);
    }
  }
}

function outcomeOfSent(sent: Sent, attempts: number): Outcome {
  switch (sent.kind) {
    case 'taken':
      return { kind: 'delivered' };
    case 'unknown':
      return { kind: 'unknown', reason: sent.reason };
    case 'refused':
      return { kind: 'dead', reason: sent.reason };
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
