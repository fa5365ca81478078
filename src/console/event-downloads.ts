import { once } from 'node:events';
import { PassThrough, type Readable } from 'node:stream';
import type { Core } from '../stores/core.js';
import type { Done } from '../operations/audited.js';
import { chainToExport, exportLedger, type Exported } from '../operations/ledger/ledger-export.js';
import { DownloadPlaces } from '../http/exports/download-places.js';
import type { TenantCall } from './console-call.js';
import type { TenantPages } from './pages/tenant-pages.js';

type Downloading = Pick<TenantCall, 'operator' | 'ledger' | 'departure'>;

/** As typed. */
export interface AskedEvents {
  readonly from?: string;
  readonly to?: string;
  /** With links and seals. */
  readonly chain?: boolean;
}

/**
 * Each reads the whole log, whatever it contains of the tenant, and rests six times as long as it
 * works while requests are at work: together they take half a processor from them.
 */
export const EVENT_DOWNLOADS = { all: 4, perHolder: 2 } as const;

/** Downloads of a ledger's events: few run concurrently, and each is recorded. */
export class EventDownloads {
  private readonly places = new DownloadPlaces(EVENT_DOWNLOADS);

  constructor(private readonly pages: Pick<TenantPages, 'recorded' | 'givingWay'>) {}

  /**
   * Written as fast as it is read, and on record before its first byte and at its end, also where
   * its reader leaves.
   * @throws {ApiError} when as many as may be are downloaded.
   */
  begin(call: Downloading, asked: AskedEvents): Readable {
    return this.places.enter(call.operator.name, () => this.sent(call, asked));
  }

  private sent(call: Downloading, asked: AskedEvents): Readable {
    const file = new PassThrough();
    const departure = call.departure();
    const way = this.pages.givingWay(departure);
    const write = async (lines: string): Promise<void> => {
      if (!file.write(lines)) await once(file, 'drain', { signal: departure });
    };
    const onPage = (): Promise<void> => {
      departure.throwIfAborted();
      return way.pause();
    };
    const sends = async (core: Core): Promise<Done<Exported | { readonly digest: string }>> => {
      const { chain: isChained = false, ...span } = asked;
      const chain = isChained ? await chainToExport(core, call.ledger, departure) : undefined;
      const result = await exportLedger(core, call.ledger, { ...span, chain, onPage }, write).catch(
        (error: unknown) => {
          if (departure.aborted) return { digest: 'cut off by its reader' };
          throw error;
        },
      );
      return { result, parameters: { ...asked }, digest: result.digest };
    };
    this.onRecord(call, asked, sends).then(
      () => file.end(),
      (error: unknown) => file.destroy(error instanceof Error ? error : new Error(String(error))),
    );
    // Without a reader the download would keep its place.
    if (departure.aborted) file.destroy();
    departure.addEventListener('abort', () => file.destroy());
    return file;
  }

  /** A process that dies meanwhile has recorded who reads. */
  private async onRecord<T>(
    call: Downloading,
    asked: AskedEvents,
    send: (core: Core) => Promise<Done<T>>,
  ): Promise<void> {
    const begun = { result: null, parameters: { ...asked }, digest: 'begun' };
    await this.pages.recorded(call, 'ledger export begun', () => Promise.resolve(begun));
    await this.pages.recorded(call, 'ledger export', send);
  }
}
