import type { Pool } from 'pg';
import type { TenantDirectory } from '../../tenants/tenant-directory.js';
import { isRemoved } from '../../domain/tenant/test-clock.js';
import { UnreadableEvent } from '../../event-log/event-schemas.js';
import { backOffMs, pause } from '../../foundation/pause.js';
import { timeNow } from '../../foundation/world.js';
import { describeFailure } from '../../reacting/describe-failure.js';
import type { ProcessPresence } from '../../postgres/process-presence.js';
import {
  againIn,
  DONE,
  workStore,
  type ClaimedWork,
  type WorkOutcome,
} from '../../work-queue/work-items.js';
import { Worker } from '../../work-queue/worker.js';
import type { AddressedMails } from '../content/addressed-mails.js';
import type { mimeOf } from '../sending/mime.js';
import type { SmtpResult, SmtpSender } from '../sending/smtp-sender.js';
import { retryInMs, PLANNED_WITHIN_MS } from './mail-retries.js';
import {
  beginSending,
  countDailyMail,
  DAILY_LIMIT,
  findOpenMail,
  LEASE_MS,
  MAILS,
  purgeMails,
  recordOutcome,
  type OpenMail,
  type Outcome,
} from './mail-rows.js';

export interface MailSenderParts {
  readonly pool: Pool;
  readonly tenants: Pick<TenantDirectory, 'read'>;
  readonly mails: Pick<AddressedMails, 'make'>;
  readonly compose: typeof mimeOf;
  readonly smtp: Pick<SmtpSender, 'send'>;
  readonly presence: Pick<ProcessPresence, 'id'>;
  readonly onOutcome?: (outcome: MailOutcome) => void;
}

export type MailOutcome = Outcome['kind'];

/** Concurrent conversations in this process, in total and per tenant. */
const CONCURRENCY = 8;
const TENANT_CONCURRENCY = 4;
const RETRY = { first: 100, max: 5_000 };
const SUSPENDED_MS = 60_000;
const UNREADABLE_MS = 600_000;
const PURGE_EVERY_MS = 3_600_000;
const PURGE_MORE_MS = 250;
const PURGE_BATCH = 1_000;
const KEPT_MS = 30 * 24 * 3_600_000;

/**
 * Sends due mails at most once: a mail is marked before its conversation begins, and a marked one
 * is not resent automatically after a crash. Any number of processes share the work.
 */
export class MailSender {
  readonly worker: Worker;

  constructor(private readonly parts: MailSenderParts) {
    const { pool, presence } = parts;
    this.worker = new Worker({
      store: workStore(pool),
      presence,
      describe: describeFailure,
      sideWork: [{ work: () => this.purge(), everyMs: PURGE_EVERY_MS, moreMs: PURGE_MORE_MS }],
      kind: {
        name: MAILS,
        concurrency: CONCURRENCY,
        ofTenant: TENANT_CONCURRENCY,
        leaseMs: LEASE_MS,
        perform: (item) => this.attempt(item),
      },
    });
  }

  private async attempt(item: ClaimedWork): Promise<WorkOutcome> {
    const { pool, smtp } = this.parts;
    const mail = await findOpenMail(pool, item.id);
    if (mail === undefined) return DONE;
    if (mail.state === 'SENDING')
      return this.record(mail, { kind: 'unknown', reason: 'the process that sent it ended' });
    const ready = await this.ready(mail);
    if ('kind' in ready) return this.record(mail, ready);
    if (!(await beginSending(pool, item))) return againIn(0);
    const attempts = mail.attempts + 1;
    return this.record({ ...mail, attempts }, outcomeOfSmtp(await smtp.send(ready), attempts));
  }

  private async record(mail: OpenMail, outcome: Outcome): Promise<WorkOutcome> {
    const isTriedAgain = await again(() => recordOutcome(this.parts.pool, mail, outcome));
    this.parts.onOutcome?.(outcome.kind);
    if (!isTriedAgain || !('inMs' in outcome)) return DONE;
    return againIn(outcome.inMs, outcome.reason);
  }

  /** @throws while the ledger cannot be read. */
  private async ready(
    mail: OpenMail,
  ): Promise<Outcome | { readonly from: string; readonly to: string; readonly bytes: Buffer }> {
    try {
      return await this.prepared(mail);
    } catch (error) {
      if (!(error instanceof UnreadableEvent)) throw error;
      return postponed(mail, 'an event of the account cannot be read', UNREADABLE_MS);
    }
  }

  private async prepared(mail: OpenMail) {
    const { tenants, mails, compose, pool } = this.parts;
    const tenant = await tenants.read(mail.tenant);
    if (tenant === undefined) return notSent('the tenant is unknown');
    if (isRemoved(tenant, mail)) return notSent('not sent: the test data were removed');
    if (tenant.suspended !== null) return postponed(mail, 'the tenant is suspended', SUSPENDED_MS);
    const prepared = await mails.make(tenant, mail);
    if (prepared.kind === 'not-sent') return notSent(`not sent: ${prepared.reason}`);
    const { sender, to, messageId, unsubscribeUrl, rendered, countedAs } = prepared.mail;
    // A retry is not counted again, and an operator may resend a mail above the limit.
    const isCounted = mail.attempts === 0 && mail.reason !== DAILY_LIMIT;
    if (countedAs !== null && isCounted && !(await countDailyMail(pool, mail.tenant, countedAs)))
      return notSent(DAILY_LIMIT);
    const date = new Date(timeNow());
    const bytes = await compose(rendered, { sender, to, messageId, unsubscribeUrl, date });
    return { from: sender.envelope, to, bytes };
  }

  private purge(): Promise<number> {
    return purgeMails(this.parts.pool, new Date(timeNow() - KEPT_MS), PURGE_BATCH);
  }
}

const notSent = (reason: string): Outcome => ({ kind: 'not-sent', reason });

/** A mail older than a week is obsolete, except for expiring rewards, which are checked later. */
function postponed({ type, created }: OpenMail, reason: string, inMs: number): Outcome {
  return type !== 'REWARD_EXPIRES_SOON' && created < timeNow() - PLANNED_WITHIN_MS
    ? notSent(`not sent: for a week ${reason}`)
    : { kind: 'postponed', reason, inMs };
}

function outcomeOfSmtp(sent: SmtpResult, attempts: number): Outcome {
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

/** During a short outage of the database a sent mail must not become `unknown`. */
async function again<T>(work: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await work();
    } catch (error) {
      if (tries === TRIES) throw error;
      await pause(backOffMs(tries, RETRY));
    }
  }
}
