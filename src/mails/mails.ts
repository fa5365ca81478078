import type { Pool } from 'pg';
import type { ReadableStreams } from '../command-handling/readable-streams.js';
import type { TenantDirectory } from '../tenants/tenant-directory.js';
import type { EventCodec } from '../event-log/codec.js';
import type { EventLog } from '../event-log/event-log.js';
import type { Logger } from '../foundation/logger.js';
import type { ProcessPresence } from '../postgres/process-presence.js';
import type { KeyedNames } from '../privacy/keyed-names.js';
import type { Themes } from '../themes/themes.js';
import { AddressedMails } from './content/addressed-mails.js';
import { renderMail } from './content/rendered-mail.js';
import { MailSender, type MailOutcome } from './deliveries/mail-sender.js';
import { waitingMails, type WaitingMails } from './deliveries/shown-mails.js';
import { hostOf } from './sender-address.js';
import { MailPlans } from './mail-plans.js';
import { mimeOf } from './sending/mime.js';
import { SmtpSender } from './sending/smtp-sender.js';
import type { TestAddresses } from './settings/test-addresses.js';
import type { SmtpAddress } from '../config/smtp-url.js';
import { UnsubscribedAddresses } from './unsubscribed-addresses.js';
import { Unsubscribing } from './unsubscribing.js';

export interface MailsParts {
  readonly core: {
    readonly log: EventLog;
    readonly codec: EventCodec;
    readonly names: KeyedNames;
    readonly streams: Pick<ReadableStreams, 'accounts'>;
    readonly tenants: TenantDirectory;
    readonly mailTestAddresses: TestAddresses;
  };
  /** For followers. */
  readonly pool: Pool;
  readonly presence: Pick<ProcessPresence, 'id'>;
  readonly themes: Pick<Themes, 'themeFor'>;
  readonly smtp: SmtpAddress;
  /** Undefined: an address at the host of `publicUrl`. */
  readonly mailFrom: string | undefined;
  readonly publicUrl: () => string;
  readonly logger: Logger;
  readonly onOutcome?: (outcome: MailOutcome) => void;
}

/** From reactions to the mail server: what is planned, and who sends it. */
export class Mails {
  readonly plans: MailPlans;
  readonly sender: MailSender;
  private readonly pool: Pool;

  constructor({ core, pool, presence, themes, smtp, logger, ...parts }: MailsParts) {
    const { publicUrl, mailFrom, onOutcome } = parts;
    const { tenants, log, codec, streams, names, mailTestAddresses } = core;
    this.pool = pool;
    this.sender = new MailSender({
      pool,
      tenants,
      presence,
      logger,
      smtp: new SmtpSender(smtp),
      compose: mimeOf,
      mails: new AddressedMails({
        log,
        codec,
        accounts: streams.accounts,
        names,
        themes,
        testAddresses: mailTestAddresses,
        unsubscribing: new Unsubscribing(names, publicUrl),
        unsubscribed: new UnsubscribedAddresses(pool, names),
        publicUrl,
        mailFrom: () => mailFrom ?? defaultFrom(publicUrl()),
        render: renderMail,
      }),
      ...(onOutcome && { onOutcome }),
    });
    this.plans = new MailPlans({ pool, tenants, onPlanned: () => this.sender.look() });
  }

  /** Of all processes. @throws while the database is unavailable. */
  waiting(): Promise<WaitingMails> {
    return waitingMails(this.pool);
  }
}

/** The address that mails are from where nobody named one. */
export const defaultFrom = (publicUrl: string): string => `no-reply@${hostOf(publicUrl)}`;
