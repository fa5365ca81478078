import { Readable } from 'node:stream';
import { isMailAddress } from '../../foundation/mail-address.js';
import { newId } from '../../foundation/world.js';
import { MAIL_STATES, type MailState } from '../../mails/deliveries/shown-mails.js';
import type { DeliverySort } from '../../work-queue/listed-deliveries.js';
import { MailPreviews } from '../../mails/mail-previews.js';
import { mailQueries, resend, type ShownMail } from '../../operations/mails/mail.operations.js';
import { NotDone, notDone, notDoneAbout, type Outcome } from '../../operations/outcome.js';
import { MAIL_TYPES, type MailType } from '../../themes/theme-instance.js';
import { isLocale } from '../../themes/theme-locale.js';
import { redirected, sendPage } from '../console-answers.js';
import { TenantCall } from '../console-call.js';
import { FilePageFor, FormFor, PageAt, TenantPage } from '../console-routes.js';
import { buttonCell, countCell, idCell, stateCell, textCell, timeCell } from '../view/cells.js';
import { faultsOf } from '../view/faults.js';
import { choice, DATES, listShown } from '../view/list-page.js';
import { MAIL_WORDS } from '../view/settings-view.js';
import { column, type TableColumn } from '../view/table.js';
import { template } from '../view/templates.js';
import { sendPreview } from '../view/theme-preview.js';
import { given, queried, queryOf, TenantPages } from './tenant-pages.js';

const STATE_WORDS: Readonly<Record<MailState, string>> = {
  DELIVERED: 'Sent',
  PENDING: 'Retrying',
  DEAD: 'Failed',
  UNKNOWN: 'Not known whether it was sent',
};
const STATES = MAIL_STATES.map((value) => ({ value, words: STATE_WORDS[value] }));
const TYPES = MAIL_TYPES.map((value) => ({ value, words: MAIL_WORDS[value][0] }));
const nameOf = (type: string): string => TYPES.find(({ value }) => value === type)?.words ?? type;

const COLUMNS: readonly TableColumn<ShownMail, DeliverySort>[] = [
  column(['type', 'Mail'], ({ type, reason }) => textCell(nameOf(type), { note: reason })),
  column('state', ({ state }) => stateCell(STATE_WORDS[state])),
  column(['attempts', 'minor'], ({ attempts }) => countCell(attempts)),
  column(['next', 'Next attempt', 'unsorted', 'minor'], ({ nextAttemptAt }) =>
    timeCell(nextAttemptAt),
  ),
  column(['reason', 'unsorted', 'file'], ({ reason }) => textCell(reason)),
  column('created', ({ created }) => timeCell(created)),
  column(['id', 'unsorted', 'minor'], ({ id }) => idCell(id)),
  column(['again', '', 'unsorted', 'page'], ({ id, state }) =>
    buttonCell(
      state === 'PENDING'
        ? undefined
        : {
            action: 'resend',
            label: 'Send again',
            about: id,
            name: 'mail',
            value: id,
            key: newId(),
          },
    ),
  ),
];

const content = template('mails');

/** For support: mails that were sent, wait, or failed; they name no person. */
@TenantPage('mails')
export class ConsoleMailsController {
  constructor(
    private readonly pages: TenantPages,
    private readonly previews: MailPreviews,
  ) {}

  /** A mail with sample values, for a frame of the page. */
  @PageAt('preview', 'support')
  async preview(@TenantCall() call: TenantCall): Promise<string> {
    const { html } = await this.previews.rendered(this.previewed(call));
    return sendPreview(call, { html, contentSecurityPolicy: PREVIEW_POLICY });
  }

  @FormFor('support')
  async act(@TenantCall() call: TenantCall): Promise<string | Readable> {
    const { form, scope } = call;
    const isTest = form.text('action') === 'test';
    const path = `${call.tenantPath}/mails`;
    const outcome = isTest
      ? await this.sentTest(call)
      : await this.pages.called<{ readonly resent: number }>(call, resend, {
          ...scope,
          delivery: form.text('mail'),
        });
    if (outcome instanceof NotDone) return this.page(call, outcome);
    if ('resent' in outcome && outcome.resent === 0)
      return this.page(call, notDone('the mail waits already: it is sent once'));
    if (!isTest) return redirected(call, path, 'mailResent');
    const { type, locale } = this.previewed(call);
    return redirected(call, path + queryOf({ mail: type, locale: locale ?? '' }), 'testMailSent');
  }

  private async sentTest(call: TenantCall): Promise<Outcome<object>> {
    const to = call.form.text('address');
    const preview = this.previewed(call);
    if (!isMailAddress(to)) return notDoneAbout('address', 'type one address: ann@example.com');
    if (await this.previews.refusalOf(call.scope, to))
      return notDoneAbout('address', 'test mode sends to the addresses of Settings only');
    const sent = await this.previews.send(preview, to, newId());
    if (sent.kind === 'taken') return { sent: 1 };
    return notDoneAbout('address', `the mail server did not take the mail: ${sent.reason}`);
  }

  /** The mail that an address or form names. */
  private previewed(call: TenantCall) {
    const { mail, locale } = given(call, 'mail', 'locale');
    const type: MailType = choice(MAIL_TYPES, mail) ?? 'WELCOME';
    return { scope: call.scope, type, locale: isLocale(locale) ? locale : null };
  }

  @FilePageFor('support')
  async page(@TenantCall() call: TenantCall, refused?: NotDone): Promise<string | Readable> {
    const { core } = this.pages;
    const list = await listShown(this.pages, call, {
      section: '/mails',
      name: 'mails',
      isPersonal: false,
      columns: COLUMNS,
      newest: { sort: 'created', descending: true },
      filters: [
        { name: 'state', label: 'State', options: STATES },
        { name: 'type', label: 'Type', options: TYPES },
        {
          name: 'account',
          label: 'Account',
          toValue: (id) => core.names.accountRef(call.ledger, String(id)),
        },
        ...DATES,
      ],
      queries: mailQueries(core),
      empty: {
        text: 'Mails appear here when they are sent. Settings say which ones are.',
        path: `${call.tenantPath}/settings`,
        link: 'Open Settings',
      },
    });
    if (list instanceof Readable) return list;
    const { type, locale } = this.previewed(call);
    const faults = faultsOf(refused);
    return sendPage(call, { of: 'mails', faults }, content, {
      list,
      types: TYPES,
      type,
      locale: locale ?? '',
      when: MAIL_WORDS[type][1],
      address: call.form.text('address'),
      isOpen: refused !== undefined || queried(call.query, 'mail').mail !== '',
      canSend: this.previews.canSend,
      previewPath: `${call.tenantPath}/mails/preview${queryOf({ mail: type, locale: locale ?? '' })}`,
    });
  }
}

/** Inline styles and images of a mail, and nothing that acts. */
const PREVIEW_POLICY =
  "default-src 'none'; style-src 'unsafe-inline'; img-src http: https:; base-uri 'none'; " +
  "form-action 'none'; frame-ancestors 'none'";
