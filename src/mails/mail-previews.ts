import type { TenantDirectory } from '../tenants/tenant-directory.js';
import { timeNow } from '../foundation/world.js';
import type { KeyedNames } from '../privacy/keyed-names.js';
import type { Themes } from '../themes/themes.js';
import { unknownNamesOfMail } from '../themes/unknown-names.js';
import { previewMail, type PreviewedMail } from './content/mail-preview.js';
import type { RenderedMail } from './content/rendered-mail.js';
import { senderOf } from './sender-address.js';
import { mimeOf } from './sending/mime.js';
import type { SmtpResult, SmtpSender, SmtpTimes } from './sending/smtp-sender.js';
import type { TestAddresses } from './settings/test-addresses.js';

export interface MailPreviewsParts {
  readonly themes: Pick<Themes, 'themeFor'>;
  readonly tenants: Pick<TenantDirectory, 'read'>;
  readonly testAddresses: Pick<TestAddresses, 'has'>;
  readonly names: Pick<KeyedNames, 'digest'>;
  /** Undefined: no mail server is configured. */
  readonly smtp: Pick<SmtpSender, 'send'> | undefined;
  readonly publicUrl: () => string;
  readonly mailFrom: () => string;
}

/** Shorter than for other mails, because an operator waits. */
export const PREVIEW_TIMES: SmtpTimes = {
  connectMs: 5_000,
  greetingMs: 5_000,
  silenceMs: 10_000,
  totalMs: 20_000,
};

/** Mails with sample values, shown or sent to one address. */
export class MailPreviews {
  constructor(private readonly parts: MailPreviewsParts) {}

  get canSend(): boolean {
    return this.parts.smtp !== undefined;
  }

  /** @throws when themes cannot be read. */
  async rendered(preview: PreviewedMail): Promise<RenderedMail> {
    const { tenant, mode } = preview.scope;
    const localized = await this.parts.themes.themeFor(tenant, mode, preview.locale);
    return previewMail(localized, preview, this.parts.publicUrl());
  }

  /** Variables and helpers that the mail omits. @throws when themes cannot be read. */
  async unknownNames({ scope, type, locale }: PreviewedMail): Promise<readonly string[]> {
    const { theme } = await this.parts.themes.themeFor(scope.tenant, scope.mode, locale);
    return unknownNamesOfMail(theme, type);
  }

  /** Why a preview cannot go to the address; undefined: it can. */
  async refusalOf({ tenant, mode }: PreviewedMail['scope'], to: string) {
    if (mode === 'live') return undefined;
    const known = await this.parts.tenants.read(tenant);
    return known && (await this.parts.testAddresses.has(known, to))
      ? undefined
      : 'must be an address that the test mode may send to (`tenant update --mail-test-to`)';
  }

  /**
   * @param to an address that `refusalOf` takes.
   * @param id of the request; makes the `Message-ID`.
   * @throws when themes cannot be read.
   */
  async send(preview: PreviewedMail, to: string, id: string): Promise<SmtpResult> {
    const { themes, tenants, names, smtp, mailFrom, publicUrl } = this.parts;
    if (smtp === undefined) return { kind: 'failed', reason: 'there is no mail server' };
    const { tenant, mode } = preview.scope;
    const localized = await themes.themeFor(tenant, mode, preview.locale);
    const domains = (await tenants.read(tenant))?.mails.domains ?? [];
    const sender = senderOf(localized.theme.email.configuration, mailFrom(), domains);
    const host = sender.envelope.slice(sender.envelope.lastIndexOf('@') + 1);
    const bytes = await mimeOf(previewMail(localized, preview, publicUrl()), {
      sender,
      to,
      messageId: `${names.digest('mail preview', id).slice(0, 40)}@${host}`,
      unsubscribeUrl: null,
      date: new Date(timeNow()),
    });
    return smtp.send({ from: sender.envelope, to, bytes });
  }
}
