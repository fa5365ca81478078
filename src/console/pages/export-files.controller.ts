import type { Readable } from 'node:stream';
import { Controller, Get, Param } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import { Exports } from '../../exports/exports.js';
import { NotDone } from '../../operations/outcome.js';
import { contentTypeOf, FileDownloads } from '../../http/exports/file-downloads.js';
import { fileNameOf } from '../../http/exports/file-name.js';
import { ConsoleCall, FileForRoles, fileSent } from '../console-call.js';
import {
  notOfThisTenant,
  TENANT_ROUTE,
  TenantPages,
  type TenantParameters,
} from './tenant-pages.js';

/** For support: the file of an export. */
@ApiExcludeController()
@Controller(`${TENANT_ROUTE}/exports`)
export class ConsoleExportFilesController {
  constructor(
    private readonly pages: TenantPages,
    private readonly exports: Exports,
    private readonly downloads: FileDownloads,
  ) {}

  @Get(':export/file')
  @FileForRoles('support')
  async file(
    @ConsoleCall() call: ConsoleCall,
    @Param() parameters: TenantParameters & { readonly export: string },
  ): Promise<Readable> {
    const scope = await this.pages.scopeOf(parameters);
    const found = await this.exports.find(scope, parameters.export);
    if (found === undefined) throw notOfThisTenant();
    const { state } = found;
    const download = await this.downloads.fileOf(state);
    const { exportId, file } = download;
    const actor = await this.pages.recorded(call, [scope, 'export download'], (_, meta) =>
      Promise.resolve({
        result: meta.actor,
        parameters: { export: exportId },
        digest: file.sha256,
      }),
    );
    if (actor instanceof NotDone) throw new Error('a download is never refused');
    const { requestId: id, departure } = call;
    const content = await this.downloads.begin({ scope, actor, id, departure }, download);
    return fileSent(call, { name: fileNameOf(state), type: contentTypeOf(state) }, content);
  }
}
