import { Controller, HttpCode, Param, Post, Query as Parameters } from '@nestjs/common';
import { ApiNoContentResponse, ApiOkResponse, ApiParam, ApiQuery } from '@nestjs/swagger';
import type { PreviewedMail } from '../../mails/content/mail-preview.js';
import {
  isMailAddress,
  MAIL_ADDRESS,
  MAIL_ADDRESS_CHARACTERS_MAX,
} from '../../foundation/mail-address.js';
import { MailPreviews } from '../../mails/mail-previews.js';
import { wellFormed } from '../../templates/template-values.js';
import { isMailType, MAIL_TYPES } from '../../themes/theme-instance.js';
import { LOCALE } from '../../themes/theme-locale.js';
import { Access, TENANT_PATH } from '../edge/access.js';
import { ApiError, badRequest, unavailable } from '../edge/api-error.js';
import { Call } from '../credentials/call.js';
import { limitCalls } from '../limits/call-limit.js';
import { RateLimits } from '../limits/rate-limits.js';
import { ApiTextQuery } from '../shapes/described-queries.js';
import { Fails } from '../shapes/openapi.js';
import { textQuery, type Query } from '../shapes/parameters.js';
import { localeIn } from '../themes/locale-in.js';
import { CommandGateway } from '../writing/command-gateway.js';
import { sentKey } from '../writing/keyed-request.js';

const ADDRESS = {
  type: 'string',
  pattern: MAIL_ADDRESS.source,
  maxLength: MAIL_ADDRESS_CHARACTERS_MAX,
} as const;
const RETRY_SECONDS = 30;
const WARNINGS_BYTES_MAX = 2 * 1024;

/** Allows inline styles and images only. */
const CSP =
  "default-src 'none'; style-src 'unsafe-inline'; img-src http: https:; base-uri 'none'; " +
  "form-action 'none'; frame-ancestors 'none'; sandbox allow-popups";
@Controller(TENANT_PATH)
export class MailPreviewsController {
  constructor(
    private readonly gateway: CommandGateway,
    private readonly previews: MailPreviews,
    private readonly limits: RateLimits,
  ) {}

  @Post('theme/email/:type/preview')
  @HttpCode(200)
  @Access('key', { emptyBody: true })
  @ApiParam({ name: 'type', enum: MAIL_TYPES })
  @ApiTextQuery('locale', { pattern: LOCALE })
  @ApiQuery({ name: 'sendTo', required: false, schema: ADDRESS })
  @ApiOkResponse({
    description: 'The mail; its title is the subject',
    content: { 'text/html': { schema: { type: 'string' } } },
    headers: {
      'Template-Warnings': {
        description: 'Variables and helpers that the mail leaves out; absent without one',
        schema: { type: 'string' },
      },
    },
  })
  @ApiNoContentResponse({ description: 'The mail server has taken the mail' })
  @Fails('THEME_NOT_FOUND', 'POSITION_INVALID', 'POSITION_NOT_REACHED')
  async preview(@Call() call: Call, @Param('type') type: string, @Parameters() query: Query) {
    if (!isMailType(type)) throw new ApiError('THEME_NOT_FOUND');
    const locale = localeIn(textQuery(query, 'locale'));
    const to = addressIn(query);
    // A key has no effect on a shown preview, but must be valid.
    sentKey(call);
    const preview = { scope: call.scope, type, locale };
    await this.gateway.readable(call, []);
    const warnings = warningsOf(await this.previews.unknownNames(preview));
    if (warnings !== '') void call.reply.header('Template-Warnings', warnings);
    return to === undefined ? this.shown(call, preview) : this.sent(call, preview, to);
  }

  private async shown({ reply }: Call, preview: PreviewedMail): Promise<string> {
    const { html } = await this.previews.rendered(preview);
    void reply
      .header('Content-Type', 'text/html; charset=utf-8')
      .header('Content-Security-Policy', CSP)
      .header('Cache-Control', 'no-store')
      .header('Referrer-Policy', 'no-referrer');
    return html;
  }

  private sent(call: Call, preview: PreviewedMail, to: string): Promise<unknown> {
    return this.gateway.answer(call, async ({ scope, commandId }) => {
      const refusal = await this.previews.refusalOf(scope, to);
      if (refusal !== undefined) throw badRequest(`sendTo ${refusal}`);
      if (!this.previews.canSend) throw unavailable(RETRY_SECONDS);
      await limitCalls(call, 'preview-mail', this.limits);
      const sent = await call.aside(() => this.previews.send(preview, to, commandId));
      if (sent.kind === 'refused') throw badRequest('sendTo was refused by the mail server');
      if (sent.kind !== 'taken') throw unavailable(RETRY_SECONDS);
      return { status: 204, body: undefined };
    });
  }
}

/** As many names as fit, percent-encoded where a header requires it. */
function warningsOf(names: readonly string[]): string {
  const all = names
    .map((name) => name.replace(/[^!-~]+|[,%]/g, (some) => encodeURIComponent(wellFormed(some))))
    .join(', ');
  if (all.length <= WARNINGS_BYTES_MAX) return all;
  return all.slice(0, Math.max(0, all.lastIndexOf(', ', WARNINGS_BYTES_MAX)));
}

/** Undefined: the preview is shown, not sent. @throws {ApiError} BAD_REQUEST. */
function addressIn({ sendTo }: Query): string | undefined {
  if (sendTo === undefined || sendTo === '') return undefined;
  if (typeof sendTo === 'string' && isMailAddress(sendTo)) return sendTo;
  const validationErrors = ['sendTo must be one e-mail address, such as ann@example.com'];
  throw new ApiError('BAD_REQUEST', { rsCode: 'RS023', validationErrors });
}
