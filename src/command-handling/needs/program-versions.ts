import { LRUCache } from 'lru-cache';
import type { NamedRules } from '../../domain/tenant/program-document.js';
import type { EventCodec } from '../../event-log/codec.js';
import type { EventLog } from '../../event-log/event-log.js';
import type { KeyedNames } from '../../privacy/keyed-names.js';

/** Stored bytes of all cached versions. */
const BYTES_MAX = 8 * 1024 * 1024;

/**
 * Earlier versions of programs. They are rarely needed, and pools of codes make them large: they
 * are read from the tenant's stream and the most recently used are cached. A version never changes.
 */
export class ProgramVersions {
  private readonly remembered: LRUCache<string, NamedRules>;

  constructor(
    private readonly log: Pick<EventLog, 'readStream'>,
    private readonly codec: Pick<EventCodec, 'decodeAll'>,
    private readonly names: Pick<KeyedNames, 'tenantStream'>,
    bytesMax = BYTES_MAX,
  ) {
    this.remembered = new LRUCache({ maxSize: bytesMax });
  }

  /** Undefined: no such version. @throws {EventLogUnavailable} */
  async find(tenant: string, programId: string, version: number): Promise<NamedRules | undefined> {
    const key = JSON.stringify([tenant, programId, version]);
    const known = this.remembered.get(key);
    if (known) return known;
    const read = await this.read(tenant, programId, version);
    if (read) this.remembered.set(key, read.version, { size: read.bytes });
    return read?.version;
  }

  private async read(
    tenant: string,
    programId: string,
    version: number,
  ): Promise<{ readonly version: NamedRules; readonly bytes: number } | undefined> {
    for await (const recorded of this.log.readStream(this.names.tenantStream(tenant))) {
      if (recorded.type !== 'ProgramApplied') continue;
      const [decoded] = await this.codec.decodeAll([recorded]);
      if (decoded?.event.type !== 'ProgramApplied') continue;
      const { event } = decoded;
      if (event.document.id !== programId || event.version !== version) continue;
      return {
        version: { document: event.document, eventRules: event.eventRules },
        bytes: recorded.data.length,
      };
    }
    return undefined;
  }
}
