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
import type { Sent, SmtpSender } from '../sending/smtp-sender.js';
import { retryInMs, TOLD_WITHIN_MS } from './mail-retries.js';
import {
  beginSending,
  countOfDay,
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
  /** Makes the bytes of a mail. */
  readonly compose: typeof mimeOf;
  readonly smtp: Pick<SmtpSender, 'send'>;
  readonly presence: Pick<ProcessPresence, 'id'>;
  readonly onOutcome?: (outcome: MailOutcome) => void;
}

/** For metrics. */
export type MailOutcome = Outcome['kind'];

/** Conversations at once, of this process and of one tenant in it. */
const AT_ONCE = 8;
const AT_ONCE_OF_TENANT = 4;
const RETRY = { first: 100, max: 5_000 };
const SUSPENDED_MS = 60_000;
const UNREADABLE_MS = 600_000;
const PURGE_EVERY_MS = 3_600_000;
const PURGE_MORE_MS = 250;
const PURGE_AT_ONCE = 1_000;
const KEPT_MS = 30 * 24 * 3_600_000;

/**
 * Sends what is due, at most once: before a conversation begins the mail is marked, and what a
 * crash leaves marked is not sent again by itself. Any number of processes share the work.
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
        atOnce: AT_ONCE,
        ofTenant: AT_ONCE_OF_TENANT,
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
    return this.record({ ...mail, attempts }, outcomeOfSent(await smtp.send(ready), attempts));
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
      return await this.made(mail);
    } catch (error) {
      if (!(error instanceof UnreadableEvent)) throw error;
      return postponed(mail, 'an event of the account cannot be read', UNREADABLE_MS);
    }
  }

  private async made(mail: OpenMail) {
    const { tenants, mails, compose, pool } = this.parts;
    const tenant = await tenants.read(mail.tenant);
    if (tenant === undefined) return notSent('the tenant is unknown');
    if (isRemoved(tenant, mail)) return notSent('not sent: the test data were removed');
    if (tenant.suspended !== null) return postponed(mail, 'the tenant is suspended', SUSPENDED_MS);
    const made = await mails.make(tenant, mail);
    if (made.kind === 'not-sent') return notSent(`not sent: ${made.reason}`);
    const { sender, to, messageId, unsubscribeUrl, rendered, countedAs } = made.mail;
    // Retries are counted once, and an operator may send one above the limit again.
    const isCounted = mail.attempts === 0 && mail.reason !== DAILY_LIMIT;
    if (countedAs !== null && isCounted && !(await countOfDay(pool, mail.tenant, countedAs)))
      return notSent(DAILY_LIMIT);
    const date = new Date(timeNow());
    const bytes = await compose(rendered, { sender, to, messageId, unsubscribeUrl, date });
    return { from: sender.envelope, to, bytes };
  }

  private purge(): Promise<number> {
    return purgeMails(this.parts.pool, new Date(timeNow() - KEPT_MS), PURGE_AT_ONCE);
  }
}

const notSent = (reason: string): Outcome => ({ kind: 'not-sent', reason });

/** What has waited for a week is no news; a reward that expires is looked at when it is sent. */
function postponed({ type, created }: OpenMail, reason: string, inMs: number): Outcome {
  return type !== 'REWARD_EXPIRES_SOON' && created < timeNow() - TOLD_WITHIN_MS
    ? notSent(`not sent: for a week ${reason}`)
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
