import { LRUCache } from 'lru-cache';
import type { EventCodec } from '../../event-log/codec.js';
import {
  LogWentBack,
  type EventLog,
  type Position,
  type StreamEnd,
} from '../../event-log/event-log.js';
import type { KeyedNames } from '../../privacy/keyed-names.js';
import type { TenantEvent } from '../../domain/tenant/tenant.decider.js';

const TENANTS_MAX = 1_000;

interface KnownTenant {
  readonly end: StreamEnd | undefined;
  /** Oldest first. */
  readonly changes: readonly { readonly position: Position; readonly programId: string }[];
}

const NOTHING: KnownTenant = { end: undefined, changes: [] };

/** Which program was the default one of a tenant, at any position of the log. */
export class DefaultPrograms {
  readonly #kept = new LRUCache<string, KnownTenant>({ max: TENANTS_MAX });

  constructor(
    private readonly log: Pick<EventLog, 'readStream' | 'compare' | 'epoch'>,
    private readonly nameless: EventCodec,
    private readonly names: KeyedNames,
  ) {}

  /** Empty text: the tenant had none. @throws {EventLogUnavailable} {UnreadableEvent} */
  async at(alias: string, position: Position): Promise<string> {
    const { changes } = await this.upToDate(alias);
    const at = changes.findLast((change) => this.log.compare(change.position, position) <= 0);
    return at?.programId ?? '';
  }

  private async upToDate(alias: string): Promise<KnownTenant> {
    for (;;) {
      const known = this.#kept.get(alias) ?? NOTHING;
      try {
        const newest = await this.readOn(alias, known);
        this.#kept.set(alias, newest);
        return newest;
      } catch (error) {
        if (!(error instanceof LogWentBack)) throw error;
        this.#kept.delete(alias);
      }
    }
  }

  private async readOn(alias: string, known: KnownTenant): Promise<KnownTenant> {
    const { epoch } = this.log;
    if (known.end !== undefined && known.end.epoch !== epoch) throw new LogWentBack();
    const changes = [...known.changes];
    let { end } = known;
    const stream = this.names.tenantStream(alias);
    for await (const recorded of this.log.readStream(stream, { end })) {
      end = { revision: recorded.revision, eventId: recorded.id, epoch };
      if (recorded.type !== 'ProgramApplied') continue;
      const [decoded] = await this.nameless.decodeAll([recorded]);
      const event = decoded?.event as TenantEvent | undefined;
      if (event?.type !== 'ProgramApplied' || !event.isDefault) continue;
      const programId = event.document.id;
      if (changes.at(-1)?.programId !== programId)
        changes.push({ position: recorded.position, programId });
    }
    if (this.log.epoch !== epoch) throw new LogWentBack();
    return { end, changes };
  }
}
