import { Get, HttpCode, Post, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Access } from '../../http/edge/access.js';
import { redirected } from '../console-answers.js';
import { ConsolePage } from '../console-routes.js';
import { ConsoleGate } from '../sessions/console-gate.js';
import { forgottenCookie, wantedIn } from '../sessions/wanted-page.js';
import { page } from '../view/layout.js';
import { PAGE_HEADERS } from '../view/page-headers.js';
import type { Wrong } from '../view/field.js';
import { template } from '../view/templates.js';
import { consoleErrorSent } from '../view/error-page.js';

const content = template('sign-in');

/** Signing in and out. */
@ConsolePage()
export class ConsoleSessionsController {
  constructor(private readonly gate: ConsoleGate) {}

  @Get('sign-in')
  @Access('console', { page: consoleErrorSent, open: true })
  signInPage(@Res({ passthrough: true }) reply: FastifyReply): string {
    return signInPage(reply, {});
  }

  @Post('session')
  @HttpCode(200)
  @Access('console', { page: consoleErrorSent, open: true, rawBody: true })
  async signIn(
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<string> {
    const operator = await this.gate.signIn(request, reply);
    if (operator !== undefined) {
      const wanted = wantedIn(request.headers.cookie);
      // Next to the cookie of the session.
      if (wanted !== undefined)
        void reply.header('Set-Cookie', forgottenCookie(request.protocol === 'https'));
      return redirected({ reply }, wanted ?? '/console');
    }
    void reply.code(401);
    return signInPage(reply, { key: 'This key is not known.' });
  }

  @Post('session/end')
  @HttpCode(200)
  @Access('console', {
    page: consoleErrorSent,
    roles: ['finance', 'support', 'viewer'],
    rawBody: true,
  })
  async signOut(
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<string> {
    await this.gate.signOut(request, reply);
    return redirected({ reply }, '/console/sign-in');
  }
}

function signInPage(reply: FastifyReply, wrong: Wrong): string {
  void reply.headers(PAGE_HEADERS);
  return page({ title: 'Sign in', session: null }, content({ wrong }));
}
