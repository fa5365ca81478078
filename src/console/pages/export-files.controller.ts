import type { Readable } from 'node:stream';
import { Param } from '@nestjs/common';
import { Exports } from '../../exports/exports.js';
import { NotDone } from '../../operations/outcome.js';
import { contentTypeOf, FileDownloads } from '../../http/exports/file-downloads.js';
import { fileNameOf } from '../../http/exports/file-name.js';
import { sendFile } from '../console-answers.js';
import { TenantCall } from '../console-call.js';
import { FilePageAt, TenantPage } from '../console-routes.js';
import { notOfThisTenant, TenantPages } from './tenant-pages.js';

/** For finance and support: the file of an export. */
@TenantPage('exports')
export class ConsoleExportFilesController {
  constructor(
    private readonly pages: TenantPages,
    private readonly exports: Exports,
    private readonly downloads: FileDownloads,
  ) {}

  @FilePageAt(':export/file', 'finance', 'support')
  async file(@TenantCall() call: TenantCall, @Param('export') id: string): Promise<Readable> {
    const found = await this.exports.find(call.ledger, id);
    if (found === undefined) throw notOfThisTenant();
    const { state } = found;
    const download = await this.downloads.fileOf(state);
    const { exportId, file } = download;
    const actor = await this.pages.recorded(call, 'export download', (_, meta) =>
      Promise.resolve({
        result: meta.actor,
        parameters: { export: exportId },
        digest: file.sha256,
      }),
    );
    if (actor instanceof NotDone) throw new Error('a download is never refused');
    const { scope, requestId, departure } = call;
    const reader = { scope, actor, id: requestId, departure };
    const content = await this.downloads.begin(reader, download);
    return sendFile(call, { name: fileNameOf(state), type: contentTypeOf(state) }, content);
  }
}
