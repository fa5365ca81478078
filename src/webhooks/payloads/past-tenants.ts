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

/** The facts of a tenant for payloads at a position of the log. */
interface PastTenant {
  /** Empty: there was none. */
  readonly defaultProgramId: string;
  /** Offset of its test clock. */
  readonly aheadMs: number;
}

interface KnownTenant {
  readonly end: StreamEnd | undefined;
  /** Oldest first. */
  readonly changes: readonly (PastTenant & { readonly position: Position })[];
}

const NOTHING: KnownTenant = { end: undefined, changes: [] };
const UNCHANGED: PastTenant = { defaultProgramId: '', aheadMs: 0 };

const CHANGING: ReadonlySet<string> = new Set<TenantEvent['type']>([
  'ProgramApplied',
  'TestClockMoved',
  'TestDataRemoved',
]);

function changedBy(tenant: PastTenant, event: TenantEvent | undefined): PastTenant {
  if (event?.type === 'ProgramApplied' && event.isDefault)
    return { ...tenant, defaultProgramId: event.document.id };
  if (event?.type === 'TestClockMoved') return { ...tenant, aheadMs: event.offsetMs };
  return event?.type === 'TestDataRemoved' ? { ...tenant, aheadMs: 0 } : tenant;
}

/** Tenants at any position of the log. */
export class PastTenants {
  readonly #kept = new LRUCache<string, KnownTenant>({ max: TENANTS_MAX });

  constructor(
    private readonly log: Pick<EventLog, 'readStream' | 'compare' | 'epoch'>,
    private readonly masked: EventCodec,
    private readonly names: KeyedNames,
  ) {}

  /** @throws {EventLogUnavailable} {UnreadableEvent} */
  async at(alias: string, position: Position): Promise<PastTenant> {
    const { changes } = await this.upToDate(alias);
    const isPast = (change: (typeof changes)[number]): boolean =>
      this.log.compare(change.position, position) <= 0;
    return changes.findLast(isPast) ?? UNCHANGED;
  }

  private async upToDate(alias: string): Promise<KnownTenant> {
    for (;;) {
      const known = this.#kept.get(alias) ?? NOTHING;
      try {
        const newest = await this.readNewEvents(alias, known);
        this.#kept.set(alias, newest);
        return newest;
      } catch (error) {
        if (!(error instanceof LogWentBack)) throw error;
        this.#kept.delete(alias);
      }
    }
  }

  private async readNewEvents(alias: string, known: KnownTenant): Promise<KnownTenant> {
    const { epoch } = this.log;
    if (known.end !== undefined && known.end.epoch !== epoch) throw new LogWentBack();
    const changes = [...known.changes];
    let { end } = known;
    const stream = this.names.tenantStream(alias);
    for await (const recorded of this.log.readStream(stream, { end })) {
      end = { revision: recorded.revision, eventId: recorded.id, epoch };
      if (!CHANGING.has(recorded.type)) continue;
      const [decoded] = await this.masked.decodeAll([recorded]);
      const before = changes.at(-1) ?? UNCHANGED;
      const after = changedBy(before, decoded?.event as TenantEvent | undefined);
      if (after !== before) changes.push({ ...after, position: recorded.position });
    }
    if (this.log.epoch !== epoch) throw new LogWentBack();
    return { end, changes };
  }
}
