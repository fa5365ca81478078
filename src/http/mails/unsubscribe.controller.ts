import { applyDecorators, Controller, Get, HttpCode, Param, Post } from '@nestjs/common';
import { ApiBody, ApiOkResponse } from '@nestjs/swagger';
import { localeWithWords, mailWords, type MailWords } from '../../mails/content/mail-words.js';
import { UnsubscribedAddresses } from '../../mails/unsubscribed-addresses.js';
import { Unsubscribing, type MailRecipient } from '../../mails/unsubscribing.js';
import { KeyedNames } from '../../privacy/keyed-names.js';
import { escapeHtml } from '../../templates/render-template.js';
import { BUILT_IN_THEME } from '../../themes/built-in-theme.js';
import { Access, TENANT_PARAMETER } from '../edge/access.js';
import { ApiError } from '../edge/api-error.js';
import { Call } from '../credentials/call.js';
import { Fails } from '../shapes/openapi.js';
import { acceptedLocales } from '../share-pages/accept-language.js';
import { documentOf, pageHeaders, policyOf, styleWith } from '../share-pages/page-document.js';
import { CommandGateway } from '../writing/command-gateway.js';
import { errorPageOfVisitors } from '../share-pages/page-answers.js';

const AnswersPage = (): MethodDecorator =>
  applyDecorators(
    // Mail programs send a form whose content is ignored.
    Access('tenant', {
      counted: 'unsubscribe',
      page: errorPageOfVisitors,
      rawBody: true,
      emptyBody: true,
    }),
    ApiOkResponse({
      description: 'A page',
      content: { 'text/html': { schema: { type: 'string' } } },
    }),
    Fails('NOT_FOUND'),
  );
@Controller(`mail/unsubscribe/:${TENANT_PARAMETER}`)
export class UnsubscribeController {
  private readonly unsubscribing: Unsubscribing;

  constructor(
    private readonly gateway: CommandGateway,
    private readonly addresses: UnsubscribedAddresses,
    names: KeyedNames,
  ) {
    this.unsubscribing = new Unsubscribing(names, () => '');
  }

  @Get(':token')
  @AnswersPage()
  ask(@Call() call: Call, @Param('token') token: string): string {
    this.recipient(call, token);
    return sent(call, ({ unsubscribe, button }) => ({
      title: unsubscribe,
      body: `<form method="post"><button class="button" type="submit">${escapeHtml(button)}</button></form>`,
    }));
  }

  @ApiBody({ required: false, schema: { type: 'object' } })
  @Post(':token')
  @HttpCode(200)
  @AnswersPage()
  async unsubscribe(@Call() call: Call, @Param('token') token: string): Promise<string> {
    const { tenant, mode, account, person } = this.recipient(call, token);
    const address = await this.gateway.unsubscribe({ tenant, mode }, account, person);
    if (address !== undefined) await this.addresses.add({ tenant, mode }, address);
    return sent(call, ({ done, doneText }) => ({
      title: done,
      body: `<p>${escapeHtml(doneText)}</p>`,
    }));
  }

  /** @throws {ApiError} NOT_FOUND for a link of another service or tenant. */
  private recipient({ tenant }: Call, token: string): MailRecipient {
    const recipient = this.unsubscribing.recipientOf(token);
    if (recipient?.tenant !== tenant.alias) throw new ApiError('NOT_FOUND');
    return recipient;
  }
}

const STYLE = styleWith(BUILT_IN_THEME.page.color);
const POLICY = policyOf(STYLE, { form: "'self'" });

function sent(
  { reply, headers }: Call,
  content: (words: MailWords) => { readonly title: string; readonly body: string },
): string {
  const locale = localeWithWords(acceptedLocales(headers['accept-language']));
  const { title, body } = content(mailWords(locale));
  const page = documentOf({
    lang: locale.replace('_', '-'),
    title: escapeHtml(title),
    head: [],
    style: STYLE,
    body: [`<h1>${escapeHtml(title)}</h1>`, body],
  });
  void reply.headers(pageHeaders(POLICY));
  return page;
}
