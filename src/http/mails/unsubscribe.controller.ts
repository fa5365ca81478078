import { applyDecorators, Controller, Get, HttpCode, Param, Post } from '@nestjs/common';
import { ApiBody, ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { Unsubscribing, type MailRecipient } from '../../mails/unsubscribing.js';
import { KeyedNames } from '../../privacy/keyed-names.js';
import { Access, TENANT_PARAMETER } from '../edge/access.js';
import { ApiError } from '../edge/api-error.js';
import { Call } from '../edge/call.js';
import { Fails } from '../shapes/openapi.js';
import { CommandGateway } from '../writing/command-gateway.js';

const AnswersPage = (): MethodDecorator =>
  applyDecorators(
    // Mail programs send a form, whose contents say nothing.
    Access('tenant', { counted: 'short-link', page: true, rawBody: true, emptyBody: true }),
    ApiOkResponse({
      description: 'A page',
      content: { 'text/html': { schema: { type: 'string' } } },
    }),
    Fails('NOT_FOUND'),
  );

/** The links in mails that end them (RFC 8058). */
@ApiTags('Mail')
@Controller(`mail/unsubscribe/:${TENANT_PARAMETER}`)
export class UnsubscribeController {
  private readonly unsubscribing: Unsubscribing;

  constructor(
    private readonly gateway: CommandGateway,
    names: KeyedNames,
  ) {
    this.unsubscribing = new Unsubscribing(names, () => '');
  }

  @ApiOperation({ summary: 'A page with a button; changes nothing' })
  @Get(':token')
  @AnswersPage()
  ask(@Call() call: Call, @Param('token') token: string): string {
    this.recipient(call, token);
    return sent(
      call,
      'Unsubscribe',
      '<form method="post"><button type="submit">Send me no more mails</button></form>',
    );
  }

  @ApiOperation({ summary: 'Ends the mails to a person, also when it is repeated' })
  @ApiBody({ required: false, schema: { type: 'object' } })
  @Post(':token')
  @HttpCode(200)
  @AnswersPage()
  async unsubscribe(@Call() call: Call, @Param('token') token: string): Promise<string> {
    const { tenant, mode, account, person } = this.recipient(call, token);
    await this.gateway.unsubscribe({ tenant, mode }, account, person);
    return sent(call, 'You are unsubscribed', '<p>You will get no more of these mails.</p>');
  }

  /** @throws {ApiError} NOT_FOUND for a link that is not of this service and tenant. */
  private recipient({ tenant }: Call, token: string): MailRecipient {
    const recipient = this.unsubscribing.recipientOf(token);
    if (recipient?.tenant !== tenant.alias) throw new ApiError('NOT_FOUND');
    return recipient;
  }
}

const STYLE =
  'body{font-family:Helvetica,Arial,sans-serif;margin:2rem auto;max-width:30rem;padding:0 1rem;' +
  'color:#1f2933;background:#fff}button{font-size:1rem;padding:.75rem 1.5rem}' +
  '@media(prefers-color-scheme:dark){body{color:#e6eaf0;background:#1b2129}}';
const CSP =
  "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

function sent({ reply }: Call, title: string, body: string): string {
  void reply
    .header('Content-Type', 'text/html; charset=utf-8')
    .header('Content-Security-Policy', CSP)
    .header('Cache-Control', 'no-store')
    .header('Referrer-Policy', 'no-referrer')
    .header('X-Robots-Tag', 'noindex');
  return `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>${title}</title><style>${STYLE}</style></head><body><main><h1>${title}</h1>${body}</main></body></html>`;
}
