import type { NamedRules } from '../../domain/tenant/program-document.js';
import type { EventCodec } from '../../event-log/codec.js';
import type { EventLog } from '../../event-log/event-log.js';
import type { KeyedNames } from '../../privacy/keyed-names.js';

/** Earlier versions of programs, read on demand: pools of codes make them large. */
export class ProgramVersions {
  constructor(
    private readonly log: Pick<EventLog, 'readStream'>,
    private readonly codec: Pick<EventCodec, 'decodeAll'>,
    private readonly names: Pick<KeyedNames, 'tenantStream'>,
  ) {}

  /** Undefined: no such version. @throws {EventLogUnavailable} */
  async find(tenant: string, programId: string, version: number): Promise<NamedRules | undefined> {
    for await (const recorded of this.log.readStream(this.names.tenantStream(tenant))) {
      if (recorded.type !== 'ProgramApplied') continue;
      const [decoded] = await this.codec.decodeAll([recorded]);
      if (decoded?.event.type !== 'ProgramApplied') continue;
      const { document, eventRules } = decoded.event;
      if (document.id === programId && decoded.event.version === version)
        return { document, eventRules };
    }
    return undefined;
  }
}
