import type { Core } from '../../../stores/core.js';
import type { Scope } from '../../../domain/scope.js';
import type { EventLog, Position, RecordedEvent } from '../../../event-log/event-log.js';
import { ERASURES } from '../../../projecting/projector.js';

const ERASURE_TYPES: ReadonlySet<string> = new Set(ERASURES);

/** Whether it may change rows of other accounts than its own. */
export const isErasure = ({ type }: Pick<RecordedEvent, 'type'>): boolean =>
  ERASURE_TYPES.has(type);

/**
 * The part of the log that an account's rows follow from, in its order: the events of the account,
 * and the erasures in the accounts that referred it. Read once, from the beginning on.
 */
export class AccountLog implements Pick<EventLog, 'readAll' | 'compare'> {
  readonly compare: EventLog['compare'];
  private readonly referrers = new Set<string>();
  /** By stream: the first revision that was not read. */
  private readonly revisions = new Map<string, bigint>();
  private waiting: readonly RecordedEvent[] = [];
  private at = 0;

  constructor(
    private readonly core: Pick<Core, 'log' | 'codec' | 'names'>,
    private readonly scope: Scope,
    private readonly stream: string,
  ) {
    this.compare = core.log.compare.bind(core.log);
  }

  async readAll(_after: Position | undefined, limit: number): Promise<readonly RecordedEvent[]> {
    if (this.at >= this.waiting.length) {
      this.waiting = await this.newEvents();
      this.at = 0;
    }
    return this.waiting.slice(this.at, (this.at += limit));
  }

  private async newEvents(): Promise<RecordedEvent[]> {
    const { codec, names } = this.core;
    const events = await this.read(this.stream);
    const starts = events.filter(({ type }) => type === 'ReferralStarted');
    for (const { event } of await codec.decodeAll(starts))
      if (event.type === 'ReferralStarted')
        this.referrers.add(names.accountStream(this.scope, event.referrer.account));
    this.referrers.delete(this.stream);
    for (const referrer of this.referrers)
      events.push(...(await this.read(referrer)).filter(isErasure));
    return events.sort((a, b) => this.compare(a.position, b.position));
  }

  private async read(stream: string): Promise<RecordedEvent[]> {
    const events: RecordedEvent[] = [];
    const from = this.revisions.get(stream) ?? 0n;
    for await (const event of this.core.log.readStream(stream, { from })) events.push(event);
    const last = events.at(-1);
    if (last) this.revisions.set(stream, last.revision + 1n);
    return events;
  }
}
