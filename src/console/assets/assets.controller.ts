import { Get, Headers, Param, Query, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { Access } from '../../http/edge/access.js';
import { ApiError } from '../../http/edge/api-error.js';
import { ConsolePage } from '../console-routes.js';
import { consoleErrorSent } from '../view/error-page.js';
import { assetNamed } from './assets.js';

/** Styles, scripts and icons of the console, open. */
@ConsolePage('assets')
export class ConsoleAssetsController {
  @Get(':name')
  @Access('console', { page: consoleErrorSent, open: true })
  asset(
    @Param('name') name: string,
    @Query('v') version: unknown,
    @Headers() headers: Readonly<Record<string, string | undefined>>,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Buffer | string {
    const found = assetNamed(name);
    if (found === undefined)
      throw new ApiError('NOT_FOUND', { message: `The console has no file ${name}.` });
    const etag = `"${found.digest}"`;
    const isPinned = version === found.digest;
    void reply.headers({
      'Content-Type': found.type,
      'Cache-Control': isPinned ? 'public, max-age=31536000, immutable' : 'no-cache',
      ETag: etag,
      Vary: 'Accept-Encoding',
    });
    if (headers['if-none-match'] === etag) {
      void reply.code(304);
      return '';
    }
    if (!/\bgzip\b/.test(headers['accept-encoding'] ?? '')) return found.content;
    void reply.header('Content-Encoding', 'gzip');
    return found.compressed;
  }
}
