import type { AddressInfo, Socket } from 'node:net';
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

/** What the server does with a mail that it has read: it may never answer, or cut the line. */
export type Manner = 'take' | 'hang' | 'cut' | { readonly code: number };

/** A real SMTP server that keeps what it takes. */
export class MailServer {
  readonly received: Received[] = [];
  readonly offered: string[] = [];
  private readonly ids: string[] = [];
  readonly manners = new Map<string, Manner>();
  private readonly sockets = new Map<number | undefined, Socket>();

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
          const text = Buffer.concat(chunks).toString();
          own.offered.push(to[0] ?? '');
          own.ids.push(/^Message-ID: (\S+)/im.exec(text)?.[1] ?? '');
          if (manner === 'hang') return;
          if (manner === 'cut') return own.cut(session.remotePort);
          // Servers quote addresses.
          if (typeof manner === 'object')
            return done(Object.assign(new Error(`no ${to[0]}`), { responseCode: manner.code }));
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
    const own = (started.server = new MailServer(server));
    server.server.on('connection', (socket: Socket) => own.sockets.set(socket.remotePort, socket));
    return own;
  }

  get port(): number {
    return (this.server.server.address() as AddressInfo).port;
  }

  async to(address: string, subject = /./): Promise<Received> {
    const find = (): Received | undefined =>
      this.received.find(
        ({ to, mail }) => to.includes(address) && subject.test(mail.subject ?? ''),
      );
    await eventually(() => find() !== undefined);
    return find()!;
  }

  takenFor(address: string): readonly Received[] {
    return this.received.filter(({ to }) => to.includes(address));
  }

  offers(address: string): number {
    return this.offered.filter((one) => one === address).length;
  }

  /** In the order of the offers, those that it did not take included. */
  offeredIds(address: string): readonly string[] {
    return this.ids.filter((_, n) => this.offered[n] === address);
  }

  private cut(port: number | undefined): void {
    this.sockets.get(port)?.destroy();
  }

  stop(): Promise<void> {
    return new Promise((resolve) => this.server.close(() => resolve()));
  }
}
