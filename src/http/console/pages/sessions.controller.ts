import { Controller, Get, HttpCode, Post, Req, Res } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Access } from '../../edge/access.js';
import { redirected } from '../console-call.js';
import { ConsoleGate } from '../sessions/console-gate.js';
import { TEXTS } from '../texts.js';
import { page } from '../view/layout.js';
import { PAGE_HEADERS } from '../view/page-headers.js';
import { template } from '../view/templates.js';

const content = template<{ wrong: string | null }>(`
<p>${TEXTS.signIn.explained}</p>
<form class="fields narrow" method="post" action="/console/session">
<div class="field"><label for="key">${TEXTS.signIn.key}</label>
<input id="key" name="key" type="password" autocomplete="current-password" required autofocus{{#if wrong}} aria-invalid="true" aria-describedby="key-wrong"{{/if}}>
{{#if wrong}}<span class="wrong" id="key-wrong" role="alert">{{wrong}}</span>{{/if}}</div>
<button>${TEXTS.signIn.title}</button>
</form>`);

/** Signing in and out. */
@ApiExcludeController()
@Controller('console')
export class ConsoleSessionsController {
  constructor(private readonly gate: ConsoleGate) {}

  @Get('sign-in')
  @Access('console', { open: true })
  signInPage(@Res({ passthrough: true }) reply: FastifyReply): string {
    return signInPage(reply, null);
  }

  @Post('session')
  @HttpCode(200)
  @Access('console', { open: true, rawBody: true })
  async signIn(
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<string> {
    const operator = await this.gate.signIn(request, reply);
    if (operator !== undefined) return redirected({ reply }, '/console');
    void reply.code(401);
    return signInPage(reply, TEXTS.signIn.unknownKey);
  }

  @Post('session/end')
  @HttpCode(200)
  @Access('console', { roles: ['finance', 'support', 'viewer'], rawBody: true })
  async signOut(
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<string> {
    await this.gate.signOut(request, reply);
    return redirected({ reply }, '/console/sign-in');
  }
}

function signInPage(reply: FastifyReply, wrong: string | null): string {
  void reply.headers(PAGE_HEADERS);
  return page({ title: TEXTS.signIn.title, session: null }, content({ wrong }));
}
