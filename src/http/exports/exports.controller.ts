import { Readable } from 'node:stream';
import {
  Body,
  Controller,
  Get,
  HttpCode,
  Param,
  Post,
  Query as QueryParameters,
  Res,
} from '@nestjs/common';
import { ApiCreatedResponse, ApiHeader, ApiOkResponse, ApiResponse } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import { ExportQueries } from '../../../projections/exports/queries.js';
import { Exports } from '../../exports/exports.js';
import { shownExport, stateOfRow } from '../../exports/shown-export.js';
import { timeNow } from '../../foundation/world.js';
import { Access, TENANT_PATH } from '../edge/access.js';
import { ApiError } from '../edge/api-error.js';
import { Call } from '../credentials/call.js';
import { ApiPage } from '../shapes/described-queries.js';
import { Fails } from '../shapes/openapi.js';
import { page, resourceId, type Query } from '../shapes/parameters.js';
import { CommandGateway } from '../writing/command-gateway.js';
import { refusalAnswer } from '../writing/refusal-answers.js';
import { matchesEtag, rangeOf } from './byte-range.js';
import { ExportRequest } from './export.request.js';
import { ExportListResponse, ExportResponse } from './export.response.js';
import { contentTypeOf, FileDownloads } from './file-downloads.js';
import { attachmentNamed, fileNameOf } from './file-name.js';

const READ_MODELS = ['exports'];
const BINARY = { schema: { type: 'string', format: 'binary' } } as const;
@Controller(TENANT_PATH)
export class ExportsController {
  constructor(
    private readonly gateway: CommandGateway,
    private readonly exports: Exports,
    private readonly queries: ExportQueries,
    private readonly downloads: FileDownloads,
  ) {}

  @Post('export')
  @HttpCode(201)
  @Access('key')
  @ApiCreatedResponse({ type: ExportResponse })
  request(@Call() call: Call, @Body() body: ExportRequest) {
    const { type: exportType, format = 'CSV', name = null, requester = 'API' } = body;
    const texts = { name, requester, params: body.params ?? null };
    return this.gateway.answer(call, async (meta) => {
      const requested = await this.exports.request(meta, { exportType, format, texts });
      if ('refused' in requested) throw refusalAnswer(requested.refused, requested.details);
      const { state, position, replayed } = requested;
      const answer = shownExport(state, undefined, timeNow());
      return { status: 201, body: answer, position, replayed };
    });
  }

  @Get('export/history/list')
  @Access('key')
  @ApiPage()
  @ApiOkResponse({ type: ExportListResponse, description: 'Newest first' })
  async list(@Call() call: Call, @QueryParameters() query: Query) {
    const wanted = page(query);
    await this.gateway.readable(call, READ_MODELS);
    const { totalCount, items } = await call.aside(() => this.queries.list(call.scope, wanted));
    const pending = items.filter(({ status }) => status === 'PENDING');
    const progress = await this.exports.progressOf(pending.map(({ export_id: id }) => id));
    const now = timeNow();
    const data = items.map((row) => shownExport(stateOfRow(row), progress.get(row.export_id), now));
    return { count: data.length, totalCount, data };
  }

  @Get('export/:exportId')
  @Access('key')
  @ApiOkResponse({ type: ExportResponse })
  @Fails('EXPORT_NOT_FOUND')
  async one(@Call() call: Call, @Param('exportId') exportId: string) {
    const { state, progress } = await this.known(call, exportId);
    return shownExport(state, progress, timeNow());
  }

  @Get('export/:exportId/download')
  @Access('key', { streams: true })
  @ApiHeader({ name: 'Range', required: false })
  @ApiHeader({ name: 'If-None-Match', required: false })
  @ApiOkResponse({
    description: 'The file',
    content: { 'text/csv': BINARY, 'application/zip': BINARY },
  })
  @ApiResponse({
    status: 206,
    description: 'The range of the file',
    content: { 'text/csv': BINARY, 'application/zip': BINARY },
  })
  @ApiResponse({ status: 304, description: 'The client has the file' })
  @ApiResponse({ status: 416, description: '`BAD_REQUEST`: no byte of the file is in the range' })
  @Fails('EXPORT_NOT_FOUND', 'EXPORT_NOT_READY', 'EXPORT_EXPIRED')
  async download(
    @Call() call: Call,
    @Param('exportId') exportId: string,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    const { state } = await this.known(call, exportId);
    const found = await this.downloads.fileOf(state);
    const { file } = found;
    const { headers } = call;
    const etag = `"${file.sha256}"`;
    const ofFile = { ETag: etag, 'Cache-Control': 'no-store' };
    if (matchesEtag(headers['if-none-match'], etag))
      return void reply.headers(ofFile).status(304).send();
    const { 'if-range': ifRange } = headers;
    const isSame = ifRange === undefined || ifRange === etag;
    const range = isSame ? rangeOf(headers.range, file.bytes) : 'whole';
    if (range === 'none') throw notSatisfiable(file.bytes);
    const part = range === 'whole' ? { first: 0, last: file.bytes - 1 } : range;
    const content =
      call.method === 'HEAD' ? Readable.from([]) : await this.downloads.begin(call, found, part);
    void reply
      .headers(ofFile)
      .headers({
        'Accept-Ranges': 'bytes',
        'Content-Disposition': attachmentNamed(fileNameOf(state)),
      })
      .status(range === 'whole' ? 200 : 206)
      .header('Content-Type', contentTypeOf(state))
      .header('Content-Length', part.last - part.first + 1);
    if (range !== 'whole')
      void reply.header('Content-Range', `bytes ${part.first}-${part.last}/${file.bytes}`);
    await reply.send(content);
  }

  private async known(call: Call, exportId: string) {
    const id = resourceId(exportId, 'EXPORT_NOT_FOUND');
    await this.gateway.readable(call, READ_MODELS);
    const found = await this.exports.find(call.scope, id);
    if (found === undefined) throw new ApiError('EXPORT_NOT_FOUND');
    return found;
  }
}

const notSatisfiable = (bytes: number): ApiError =>
  new ApiError('BAD_REQUEST', {
    status: 416,
    validationErrors: ['Range names no byte of the file'],
    headers: { 'Content-Range': `bytes */${bytes}` },
  });
