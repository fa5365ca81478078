import type { NamedRules } from '../../domain/tenant/program-document.js';
import type { EventCodec } from '../../event-log/codec.js';
import type { EventLog } from '../../event-log/event-log.js';
import type { KeyedNames } from '../../privacy/keyed-names.js';

/** Stored bytes of all cached versions. */
const BYTES_MAX = 8 * 1024 * 1024;

interface Remembered {
  readonly version: NamedRules;
  readonly bytes: number;
}

/**
 * Earlier versions of programs. They are rarely needed, and pools of codes make them large: they
 * are read from the tenant's stream and the most recently used are cached. A version never changes.
 */
export class ProgramVersions {
  private readonly remembered = new Map<string, Remembered>();
  private bytes = 0;

  constructor(
    private readonly log: Pick<EventLog, 'readStream'>,
    private readonly codec: Pick<EventCodec, 'decodeAll'>,
    private readonly names: Pick<KeyedNames, 'tenantStream'>,
    private readonly bytesMax = BYTES_MAX,
  ) {}

  /** Undefined: no such version. @throws {EventLogUnavailable} */
  async find(tenant: string, programId: string, version: number): Promise<NamedRules | undefined> {
    const key = JSON.stringify([tenant, programId, version]);
    const known = this.remembered.get(key);
    if (known) {
      // Most recently used last.
      this.remembered.delete(key);
      this.remembered.set(key, known);
      return known.version;
    }
    const read = await this.read(tenant, programId, version);
    if (read) this.remember(key, read);
    return read?.version;
  }

  private async read(
    tenant: string,
    programId: string,
    version: number,
  ): Promise<Remembered | undefined> {
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

  private remember(key: string, read: Remembered): void {
    const before = this.remembered.get(key);
    if (before) return;
    this.remembered.set(key, read);
    this.bytes += read.bytes;
    for (const [oldest, { bytes }] of this.remembered) {
      if (this.bytes <= this.bytesMax) return;
      this.remembered.delete(oldest);
      this.bytes -= bytes;
    }
  }
}
