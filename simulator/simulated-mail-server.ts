import { pause } from '../src/foundation/pause.js';
import type { AddressedMail } from '../src/mails/content/addressed-mails.js';
import type { RenderedMail } from '../src/mails/content/rendered-mail.js';
import type { Envelope } from '../src/mails/sending/mime.js';
import { failureOf, type Sent, type SmtpMail } from '../src/mails/sending/smtp-sender.js';
import type { Faults } from './faults.js';
import type { VirtualWorld } from './virtual-world.js';

/** The whole conversation, as the real one ends it. */
const SILENT_MS = 40_000;

/** A mail that the server has accepted. */
export interface TakenMail {
  readonly messageId: string;
  readonly to: string;
  readonly unsubscribeUrl: string | null;
}

/** The mail server that all processes send through. */
export class SimulatedMailServer {
  readonly taken: TakenMail[] = [];
  /** Epoch milliseconds. */
  awayUntil = 0;

  take(mail: SmtpMail): void {
    const { messageId, unsubscribeUrl } = JSON.parse(mail.bytes.toString()) as Envelope;
    this.taken.push({ messageId, unsubscribeUrl, to: mail.to });
  }
}

/** The mail server as one process reaches it. */
export class SimulatedSmtp {
  constructor(
    private readonly server: SimulatedMailServer,
    private readonly parts: { readonly world: VirtualWorld; readonly faults: Faults },
  ) {}

  /** As `SmtpSender` answers. Does not reject. */
  async send(mail: SmtpMail): Promise<Sent> {
    const { world, faults } = this.parts;
    const { server } = this;
    if (faults.happens('mail server silent before the mail')) return this.silence(false);
    const isSilent = faults.happens('mail server silent after the mail');
    const isRefused = !isSilent && faults.happens('mail refused');
    const isPutOff = !isSilent && !isRefused && faults.happens('mail put off');
    const isUnanswered = faults.happens('answer of the mail server lost');
    const sent = await world.call((): Sent => {
      if (server.awayUntil > world.now()) return failureOf({ code: 'ECONNREFUSED' }, false);
      if (isRefused) return failureOf({ responseCode: 550 }, true);
      if (isPutOff) return failureOf({ responseCode: 451 }, true);
      server.take(mail);
      return isUnanswered ? failureOf({ code: 'ECONNECTION' }, true) : { kind: 'taken' };
    });
    return isSilent && sent.kind === 'taken' ? this.silence(true) : sent;
  }

  private async silence(isBegun: boolean): Promise<Sent> {
    await pause(SILENT_MS);
    return failureOf({ code: 'ETIMEDOUT' }, isBegun);
  }
}

/** In place of MIME: what the promises look at. */
export const plainMail = (_: RenderedMail, envelope: Envelope): Promise<Buffer> =>
  Promise.resolve(Buffer.from(JSON.stringify(envelope)));

/** In place of HTML: rendering takes long and does not depend on when it happens. */
export const unrendered = (): AddressedMail['rendered'] => ({ subject: '', html: '', text: '' });
