import { createHash } from 'node:crypto';
import { Controller, Get, Headers, Param, Res } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import { Access } from '../../http/edge/access.js';
import { ApiError } from '../../http/edge/api-error.js';
import { CONSOLE_SCRIPT } from './console-script.js';
import { CONSOLE_STYLE } from './console-style.js';
import { TEXTS } from '../texts.js';
import { consoleErrorSent } from '../view/error-page.js';

interface Asset {
  readonly type: string;
  readonly content: string;
  readonly etag: string;
}

const ICON =
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><rect width="16" height="16" rx="3" fill="#0b57a4"/><path d="M4 11V5h3.5a2 2 0 0 1 0 4H4m4 0 3 2" fill="none" stroke="#fff" stroke-width="1.6"/></svg>';

const asset = (type: string, content: string): Asset => ({
  type,
  content,
  etag: `"${createHash('sha256').update(content).digest('base64url').slice(0, 22)}"`,
});

const ASSETS: ReadonlyMap<string, Asset> = new Map([
  ['console.css', asset('text/css; charset=utf-8', CONSOLE_STYLE)],
  ['console.js', asset('text/javascript; charset=utf-8', CONSOLE_SCRIPT)],
  ['icon.svg', asset('image/svg+xml', ICON)],
]);

/** Style and script of the console, for anybody. */
@ApiExcludeController()
@Controller('console/assets')
export class ConsoleAssetsController {
  @Get(':name')
  @Access('console', { page: consoleErrorSent, open: true })
  asset(
    @Param('name') name: string,
    @Headers('if-none-match') known: string | undefined,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): string {
    const found = ASSETS.get(name);
    if (found === undefined) throw new ApiError('NOT_FOUND', { message: TEXTS.assets.noFile });
    void reply
      .header('Content-Type', found.type)
      .header('Cache-Control', 'no-cache')
      .header('ETag', found.etag);
    if (known === found.etag) {
      void reply.code(304);
      return '';
    }
    return found.content;
  }
}
