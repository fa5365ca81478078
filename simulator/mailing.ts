import type { CommandHandlingCore } from '../src/command-handling/open-command-handling.js';
import type { Streams } from '../src/command-handling/streams.js';
import type { EventCodec } from '../src/event-log/codec.js';
import { AddressedMails } from '../src/mails/content/addressed-mails.js';
import { MailSender } from '../src/mails/deliveries/mail-sender.js';
import { MailPlans } from '../src/mails/mail-plans.js';
import { TestAddresses } from '../src/mails/settings/test-addresses.js';
import { Unsubscribing } from '../src/mails/unsubscribing.js';
import type { KeyedNames } from '../src/privacy/keyed-names.js';
import { FixedSealer } from '../src/privacy/sealed-bytes.js';
import { Themes } from '../src/themes/themes.js';
import type { Connection } from './connection.js';
import type { Faults } from './faults.js';
import type { SimulatedEventLog } from './simulated-event-log.js';
import {
  plainMail,
  SimulatedSmtp,
  unrendered,
  type SimulatedMailServer,
} from './simulated-mail-server.js';
import { simulatedMailStore, type SimulatedMailTable } from './simulated-mails.js';
import type { SimulatedReadModels } from './simulated-read-models.js';
import { simulatedThemes } from './simulated-themes.js';
import type { VirtualWorld } from './virtual-world.js';

const ADDRESSES_KEY = Buffer.alloc(32, 6);
/** At which mails have their ids and links. */
export const MAIL_HOST = 'ledger.example';
const publicUrl = (): string => `https://${MAIL_HOST}`;

export const testAddresses = (names: KeyedNames): TestAddresses =>
  new TestAddresses(new FixedSealer(ADDRESSES_KEY), names);

export const unsubscribing = (names: KeyedNames): Unsubscribing =>
  new Unsubscribing(names, publicUrl);

export interface MailingParts {
  readonly world: VirtualWorld;
  readonly faults: Faults;
  readonly line: Connection;
  /** Under which the process is present. */
  readonly id: number;
  readonly shared: {
    readonly mails: SimulatedMailTable;
    readonly mailServer: SimulatedMailServer;
    readonly readModels: SimulatedReadModels;
  };
  readonly log: SimulatedEventLog;
  readonly codec: EventCodec;
  readonly names: KeyedNames;
  readonly streams: Streams;
  readonly handling: CommandHandlingCore;
}

export interface Mailing {
  readonly plans: MailPlans;
  readonly sender: MailSender;
}

/** What plans and sends mails in one process: the code that ships, but for the words of a mail. */
export function openMailing(parts: MailingParts): Mailing {
  const { world, faults, line, id, shared, log, codec, names, streams, handling } = parts;
  const { tenants } = handling;
  const store = simulatedMailStore(shared.mails, line);
  const sender = new MailSender({
    store,
    tenants,
    presence: { id },
    logger: { warn: () => undefined },
    smtp: new SimulatedSmtp(shared.mailServer, { world, faults }),
    compose: plainMail,
    mails: new AddressedMails({
      log,
      codec,
      accounts: streams.accounts,
      names,
      themes: new Themes(simulatedThemes(shared.readModels, line)),
      testAddresses: testAddresses(names),
      unsubscribing: unsubscribing(names),
      publicUrl,
      mailFrom: () => `refer@${MAIL_HOST}`,
      render: unrendered,
    }),
  });
  const plans = new MailPlans({ store, tenants, onPlanned: () => sender.look() });
  return { plans, sender };
}
