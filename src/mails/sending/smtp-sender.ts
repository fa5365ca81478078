import { Readable } from 'node:stream';
import SMTPConnection from 'nodemailer/lib/smtp-connection';
import { after } from '../../foundation/world.js';
import type { SmtpAddress } from '../../config/smtp-url.js';

/** The server's answer. Reasons contain no address and no text of the server. */
export type SmtpResult =
  | { readonly kind: 'taken' }
  /** The server may have accepted it. */
  | { readonly kind: 'unknown'; readonly reason: string }
  /** Not accepted; a retry may succeed. */
  | { readonly kind: 'failed'; readonly reason: string }
  /** Rejected permanently. */
  | { readonly kind: 'refused'; readonly reason: string };

export interface SmtpMail {
  readonly from: string;
  readonly to: string;
  readonly bytes: Buffer;
}

export interface SmtpTimes {
  readonly connectMs: number;
  readonly greetingMs: number;
  /** Longest pause of the server. */
  readonly silenceMs: number;
  readonly totalMs: number;
}

const TIMES: SmtpTimes = {
  connectMs: 5_000,
  greetingMs: 10_000,
  silenceMs: 15_000,
  totalMs: 40_000,
};
const RESPONSE_BYTES_MAX = 64 * 1024;

/** Sends each mail in its own conversation. */
export class SmtpSender {
  constructor(
    private readonly address: SmtpAddress,
    private readonly times: SmtpTimes = TIMES,
  ) {}

  /** Ends within `totalMs`, whatever the server does. Never rejects. */
  send(mail: SmtpMail): Promise<SmtpResult> {
    return new Promise((resolve) => {
      const bytes = new SentBytes(mail.bytes);
      const connection = this.connection();
      const end = (sent: SmtpResult): void => {
        cancel();
        // Resolve first: closing emits `end` synchronously.
        resolve(sent);
        if (sent.kind === 'taken') connection.quit();
        else connection.close();
      };
      const fail = (error: unknown): void => end(failureOf(error, bytes.isStarted));
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
      // Without required TLS, an unverified certificate is better than none.
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

/** The stream is read once the server has accepted the envelope. */
class SentBytes extends Readable {
  isStarted = false;

  constructor(private readonly bytes: Buffer) {
    super();
  }

  override _read(): void {
    if (this.isStarted) return;
    this.isStarted = true;
    this.push(this.bytes);
    this.push(null);
  }
}

/** @param isStarted whether the server may have received the mail. */
export function failureOf(error: unknown, isStarted: boolean): SmtpResult {
  const { responseCode, code } = facts(error);
  if (responseCode !== undefined) {
    const reason = `the server answered ${responseCode}`;
    // A refused login is a configuration error, and may be repaired.
    const isFinal = responseCode >= 500 && code !== 'EAUTH' && code !== 'ETLS';
    return { kind: isFinal ? 'refused' : 'failed', reason };
  }
  const reason = WORDS[code] ?? 'the conversation with the server failed';
  if (isStarted) return { kind: 'unknown', reason: `${reason} after it was sent the mail` };
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
