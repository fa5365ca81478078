import { Readable } from 'node:stream';
import type { KnownExport } from '../../domain/export/export.decider.js';
import type { Actor } from '../../event-log/envelope.js';
import type { ExportDownloads } from '../../exports/export-downloads.js';
import { statusOf } from '../../exports/shown-export.js';
import type { ByteRange } from '../../exports/storage/stored-file.js';
import { timeNow } from '../../foundation/world.js';
import type { Call } from '../credentials/call.js';
import { ApiError } from '../edge/api-error.js';
import type { DownloadPlaces } from './download-places.js';

/** A completed export's file. */
export interface FileOfExport {
  readonly exportId: string;
  readonly attempt: string;
  readonly file: NonNullable<KnownExport['file']>;
}

/** Limits downloads and records each before its first byte. */
export class FileDownloads {
  constructor(
    private readonly downloads: ExportDownloads,
    private readonly places: DownloadPlaces,
  ) {}

  /** @throws {ApiError} EXPORT_EXPIRED, EXPORT_NOT_READY. */
  async fileOf(state: KnownExport): Promise<FileOfExport> {
    const status = statusOf(state, timeNow());
    if (status === 'EXPIRED') throw new ApiError('EXPORT_EXPIRED');
    const { exportId, file } = state;
    if (status !== 'COMPLETED' || file === null) throw notReady(exportId, status);
    const attempt = await this.downloads.find(exportId);
    if (attempt === undefined) throw new ApiError('EXPORT_EXPIRED');
    return { exportId, attempt, file };
  }

  /** @throws {ApiError} when too many downloads are running. */
  async begin(
    {
      scope,
      actor,
      id,
      departure,
    }: Pick<Call, 'scope' | 'id' | 'departure'> & {
      readonly actor: Actor;
    },
    { exportId, attempt, file }: FileOfExport,
    part: ByteRange = { first: 0, last: file.bytes - 1 },
  ): Promise<Readable> {
    const content = this.places.enter(scope.tenant, () =>
      Readable.from(this.downloads.read(attempt, part), { objectMode: false }),
    );
    await this.downloads.record({ scope, exportId, actor, id }).catch((error: unknown) => {
      content.destroy();
      throw error;
    });
    const departed = departure();
    if (departed.aborted) content.destroy();
    departed.addEventListener('abort', () => content.destroy());
    return content;
  }
}

const notReady = (exportId: string, status: string): ApiError =>
  new ApiError('EXPORT_NOT_READY', {
    message: `The export ${exportId} is ${status}: ${
      status === 'ABORTED' ? 'request it again' : `read it until its status is COMPLETED`
    }`,
  });

export const contentTypeOf = ({ format }: Pick<KnownExport, 'format'>): string =>
  format === 'CSV' ? 'text/csv; charset=utf-8' : 'application/zip';
