import type { AddressInfo } from 'node:net';
import { simpleParser, type ParsedMail } from 'mailparser';
import { SMTPServer, type SMTPServerOptions } from 'smtp-server';
import { eventually } from '../../support/embedded.js';

export interface Received {
  readonly from: string;
  readonly to: readonly string[];
  readonly secure: boolean;
  readonly mail: ParsedMail;
  readonly raw: string;
}

/** What the server does with a mail to an address: nothing, a code, or no answer at all. */
export type Manner = 'take' | 'hang' | 'cut' | { readonly code: number };

/** A real SMTP server that keeps what it takes. */
export class MailServer {
  readonly received: Received[] = [];
  readonly offered: string[] = [];
  readonly manners = new Map<string, Manner>();

  private constructor(private readonly server: SMTPServer) {}

  static async start(options: SMTPServerOptions = {}): Promise<MailServer> {
    const started: { server?: MailServer } = {};
    const server = new SMTPServer({
      authOptional: true,
      disableReverseLookup: true,
      logger: false,
      ...options,
      onData: (stream, session, done) => {
        const chunks: Buffer[] = [];
        stream.on('data', (chunk: Buffer) => chunks.push(chunk));
        stream.on('end', () => {
          const to = session.envelope.rcptTo.map(({ address }) => address);
          const { mailFrom } = session.envelope;
          const from = mailFrom === false ? '' : mailFrom.address;
          const own = started.server!;
          const manner = own.manners.get(to[0] ?? '') ?? 'take';
          own.offered.push(to[0] ?? '');
          if (manner === 'hang') return;
          if (typeof manner === 'object')
            return done(Object.assign(new Error('no'), { responseCode: manner.code }));
          const raw = Buffer.concat(chunks);
          void simpleParser(raw).then((mail) => {
            const secure = session.secure;
            own.received.push({ from, to, secure, mail, raw: raw.toString() });
            done();
          });
        });
      },
    });
    server.on('error', () => undefined);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return (started.server = new MailServer(server));
  }

  get port(): number {
    return (this.server.server.address() as AddressInfo).port;
  }

  /** The first mail to the address, once it is there. */
  async to(address: string, subject = /./): Promise<Received> {
    const find = (): Received | undefined =>
      this.received.find(
        ({ to, mail }) => to.includes(address) && subject.test(mail.subject ?? ''),
      );
    await eventually(() => Promise.resolve(find() !== undefined), 40_000);
    return find()!;
  }

  stop(): Promise<void> {
    return new Promise((resolve) => this.server.close(() => resolve()));
  }
}
