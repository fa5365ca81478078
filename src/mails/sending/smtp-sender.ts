import { Readable } from 'node:stream';
import SMTPConnection from 'nodemailer/lib/smtp-connection';
import { after } from '../../foundation/world.js';
import type { SmtpAddress } from '../../config/smtp-url.js';

/** What a server said to a mail. Reasons name no address and no text of the server's. */
export type Sent =
  | { readonly kind: 'taken' }
  /** It may have taken it. */
  | { readonly kind: 'unknown'; readonly reason: string }
  /** It has not: another time it may. */
  | { readonly kind: 'failed'; readonly reason: string }
  /** It never will. */
  | { readonly kind: 'refused'; readonly reason: string };

export interface SmtpMail {
  readonly from: string;
  readonly to: string;
  readonly bytes: Buffer;
}

export interface SmtpTimes {
  readonly connectMs: number;
  readonly greetingMs: number;
  /** Longest silence of the server. */
  readonly silenceMs: number;
  /** The whole conversation. */
  readonly totalMs: number;
}

const TIMES: SmtpTimes = {
  connectMs: 5_000,
  greetingMs: 10_000,
  silenceMs: 15_000,
  totalMs: 40_000,
};
const RESPONSE_BYTES_MAX = 64 * 1024;

/** Sends mails, each in a conversation of its own. */
export class SmtpSender {
  constructor(
    private readonly address: SmtpAddress,
    private readonly times: SmtpTimes = TIMES,
  ) {}

  /** Ends within `totalMs`, whatever the server does. Does not reject. */
  send(mail: SmtpMail): Promise<Sent> {
    return new Promise((resolve) => {
      const bytes = new SentBytes(mail.bytes);
      const connection = this.connection();
      const end = (sent: Sent): void => {
        cancel();
        // First, since closing is announced at once.
        resolve(sent);
        if (sent.kind === 'taken') connection.quit();
        else connection.close();
      };
      const fail = (error: unknown): void => end(failureOf(error, bytes.isBegun));
      const cancel = after(this.times.totalMs, () => fail({ code: 'ETIMEDOUT' }));
      const deliver = (): void =>
        connection.send({ from: mail.from, to: [mail.to] }, bytes, (error) => {
          if (error) return fail(error);
          end({ kind: 'taken' });
        });
      connection.on('error', fail);
      connection.on('end', () => fail({ code: 'ECONNECTION' }));
      connection.connect((error) => {
        if (error) return fail(error);
        const { login } = this.address;
        if (login === undefined) return deliver();
        connection.login({ user: login.user, pass: login.password }, (refused) =>
          refused ? fail(refused) : deliver(),
        );
      });
    });
  }

  private connection(): SMTPConnection {
    const { host, port, secure, requireTls } = this.address;
    const { connectMs, greetingMs, silenceMs } = this.times;
    return new SMTPConnection({
      host,
      port,
      secure,
      requireTLS: requireTls,
      // Where TLS is not asked for, one without proof is better than none.
      tls: { rejectUnauthorized: secure || requireTls },
      connectionTimeout: connectMs,
      dnsTimeout: connectMs,
      greetingTimeout: greetingMs,
      socketTimeout: silenceMs,
      maxResponseSize: RESPONSE_BYTES_MAX,
      allowInternalNetworkInterfaces: true,
      logger: false,
    });
  }
}

/** They are read once the server has agreed to take them. */
class SentBytes extends Readable {
  isBegun = false;

  constructor(private readonly bytes: Buffer) {
    super();
  }

  override _read(): void {
    if (this.isBegun) return;
    this.isBegun = true;
    this.push(this.bytes);
    this.push(null);
  }
}

/** @param isBegun whether the server was sent the mail's bytes. */
export function failureOf(error: unknown, isBegun: boolean): Sent {
  const { responseCode, code } = facts(error);
  if (responseCode !== undefined) {
    const reason = `the server answered ${responseCode}`;
    // A refused login is a fault of the configuration.
    const isFinal = responseCode >= 500 && code !== 'EAUTH' && code !== 'ETLS';
    return { kind: isFinal ? 'refused' : 'failed', reason };
  }
  const reason = WORDS[code] ?? 'the conversation with the server failed';
  if (isBegun) return { kind: 'unknown', reason: `${reason} after it was sent the mail` };
  return { kind: 'failed', reason };
}

const WORDS: Readonly<Record<string, string>> = {
  ETIMEDOUT: 'the server did not answer in time',
  ECONNECTION: 'the connection to the server failed',
  ECONNREFUSED: 'the connection to the server failed',
  ESOCKET: 'the connection to the server failed',
  EDNS: 'the name of the server is unknown',
  ETLS: 'there was no TLS with a good certificate',
  EAUTH: 'the login was refused',
};

function facts(error: unknown): {
  readonly responseCode: number | undefined;
  readonly code: string;
} {
  if (typeof error !== 'object' || error === null) return { responseCode: undefined, code: '' };
  const responseCode = 'responseCode' in error ? error.responseCode : undefined;
  const code = 'code' in error ? error.code : undefined;
  return {
    responseCode: typeof responseCode === 'number' ? responseCode : undefined,
    code: typeof code === 'string' ? code : '',
  };
}
