import MailComposer from 'nodemailer/lib/mail-composer';
import type { Sender } from '../sender-address.js';
import type { RenderedMail } from '../content/rendered-mail.js';

export interface Envelope {
  readonly sender: Pick<Sender, 'from' | 'replyTo'>;
  readonly to: string;
  /** Without angle brackets. */
  readonly messageId: string;
  readonly date: Date;
  /** Address for one-click unsubscription; null: none. */
  readonly unsubscribeUrl: string | null;
}

/** The bytes of a mail with a text and an HTML part. Reads no file and no URL. */
export function mimeOf(mail: RenderedMail, envelope: Envelope): Promise<Buffer> {
  const { sender, to, messageId, date, unsubscribeUrl } = envelope;
  const composer = new MailComposer({
    from: sender.from,
    ...(sender.replyTo !== null && { replyTo: { name: '', address: sender.replyTo } }),
    to: { name: '', address: to },
    subject: mail.subject,
    text: mail.text,
    html: mail.html,
    messageId: `<${messageId}>`,
    date,
    headers: {
      'Auto-Submitted': 'auto-generated',
      ...(unsubscribeUrl !== null && {
        'List-Unsubscribe': `<${unsubscribeUrl}>`,
        'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click',
      }),
    },
    disableFileAccess: true,
    disableUrlAccess: true,
  });
  return new Promise((resolve, reject) => {
    composer.compile().build((error, bytes) => {
      if (error) reject(error);
      else resolve(bytes);
    });
  });
}
