import type { Core } from '../../../stores/core.js';
import type { AccountRef, Scope } from '../../../domain/scope.js';
import { effectiveTimeOf } from '../../../event-log/envelope.js';
import type { Position, RecordedEvent } from '../../../event-log/event-log.js';
import { logPages } from '../../../event-log/event-pages.js';
import { UnreadableEvent } from '../../../event-log/event-schemas.js';
import { inChunks } from '../../../foundation/in-chunks.js';
import { decodeForProjectors } from '../../../projecting/decode-events.js';
import { ProjectionFold } from '../../../projecting/generations/log-fold.js';
import { ERASURES, forgottenBy, type LedgerEvent } from '../../../projecting/projector.js';
import { ACCOUNTS_AT_ONCE, pagesOf, type Work } from '../ledger-entries.js';
import type { Selection } from '../ledger-selection.js';
import { Comparison, presenceOf, rowName, type Difference } from './comparison.js';
import { accountProjectors } from '../../../../projections/account-projectors.js';
import { ownerOf, type ReadModelSnapshot } from './live-rows.js';
import { type NotDone, notDone } from '../../outcome.js';

export type Replay = ReturnType<ReplayRun['result']>;

export interface ReplayWork extends Work {
  /** Accounts whose rows are in memory. */
  readonly accountsInMemory?: number;
}

const PAGE = 500;
const ACCOUNTS = 100;
const ERASURE_TYPES: ReadonlySet<string> = new Set(ERASURES);

/** A replay of one snapshot of the read models: a few accounts at a time. */
export class ReplayRun {
  private readonly found: Difference[] = [];
  private readonly comparison: Comparison;
  private readonly folds: readonly ProjectionFold[];
  /** The positions of the read models, oldest first, each once. */
  private readonly positions: readonly (Position | undefined)[];
  /** The end of what is folded. */
  private readonly bound: Position | undefined;
  private readonly prefix: string;
  /** The erasures in a stream, of the accounts that referred others. */
  private readonly erasures = new Map<string, readonly RecordedEvent[]>();
  /** Up to here erasures that read models may not have applied are noted. */
  private noted: Position | undefined;
  private events = 0;
  private newest: Position | undefined;
  /** The event that is folded. */
  private eventId = '';

  constructor(
    private readonly core: Pick<Core, 'log' | 'codec' | 'names'>,
    private readonly scope: Scope,
    private readonly selection: Selection,
    private readonly snapshot: ReadModelSnapshot,
    private readonly work: ReplayWork,
  ) {
    const { log, names } = core;
    const checkpoints = [...snapshot.checkpoints.values()].map(({ position }) => position);
    const reached = [...new Set(checkpoints)].filter((position) => position !== undefined);
    const inOrder = reached.sort((a, b) => log.compare(a, b));
    // A sort would leave a read model that has not begun at the end, as the newest.
    this.positions = checkpoints.includes(undefined) ? [undefined, ...inOrder] : inOrder;
    this.noted = this.positions[0];
    const newest = inOrder.at(-1);
    this.bound = log.compare(selection.upTo, newest) > 0 ? selection.upTo : newest;
    this.prefix = names.accountStream(scope, '');
    this.comparison = new Comparison(snapshot, scope, work.pauseForRequests);
    this.folds = accountProjectors.map((projector) => {
      const owned = new Set(projector.tables.filter(ownerOf).map(({ name }) => name));
      const until = snapshot.checkpoints.get(projector.name)?.position;
      return new ProjectionFold(projector, until, (table, key) => {
        if (owned.has(table))
          this.comparison.wrote(projector.name, rowName(table, key), this.eventId);
      });
    });
  }

  async account(account: AccountRef): Promise<Replay> {
    for (const event of await this.replay([account])) this.reach(event);
    return this.result();
  }

  async everyAccount(resumeFrom: Position | undefined): Promise<Replay> {
    const { onProgress, signal, accountsInMemory = ACCOUNTS } = this.work;
    const { compared } = this.comparison;
    const total = await this.snapshot.accountsOf(this.scope);
    let from = resumeFrom;
    for await (const some of pagesOf(this.firstEvents(resumeFrom), accountsInMemory)) {
      await this.replay(some.map(({ stream }) => stream.slice(this.prefix.length)));
      if (signal?.aborted) throw this.stopped(from);
      this.comparison.areCompared();
      from = some.at(-1)?.position;
      onProgress?.('replaying', compared.size, Math.max(total, compared.size));
    }
    if (signal?.aborted) throw this.stopped(from);
    if (resumeFrom === undefined) await this.compare('rest');
    return this.result();
  }

  /** Those of the accounts; the events of no account are folded on the way. */
  private async *firstEvents(after: Position | undefined): AsyncGenerator<RecordedEvent> {
    const { core, scope, prefix, bound, work } = this;
    const { log, names } = core;
    const others = [names.exportStream(scope, ''), names.operationsStreams(scope)];
    for await (const page of logPages(log, { after, upTo: bound, limit: PAGE })) {
      for (const event of page) this.reach(event);
      if (after === undefined)
        await this.fold(page.filter(({ stream }) => others.some((one) => stream.startsWith(one))));
      await work.pauseForRequests?.();
      if (work.signal?.aborted) return;
      yield* page.filter(({ stream, revision }) => revision === 0n && stream.startsWith(prefix));
    }
  }

  private reach(event: RecordedEvent): void {
    const { position } = event;
    const isInTime = effectiveTimeOf(event) <= (this.selection.until ?? Infinity);
    if (isInTime && this.core.log.compare(position, this.newest) > 0) this.newest = position;
  }

  /** Folds the accounts and compares them. @returns their events, and further ones. */
  private async replay(accounts: readonly AccountRef[]): Promise<readonly RecordedEvent[]> {
    const { core, prefix, comparison } = this;
    for (const account of accounts) comparison.folded.set(account, 'anonymous');
    const streams = accounts.map((account) => `${prefix}${account}`);
    let own: RecordedEvent[] = [];
    for (const some of inChunks(streams, ACCOUNTS_AT_ONCE))
      own = own.concat(...(await Promise.all(some.map((stream) => this.eventsOf(stream)))));
    for (const event of own) this.count(event);
    const starts = await this.decode(own.filter(({ type }) => type === 'ReferralStarted'));
    const referrers = new Set(
      starts.flatMap(({ event }) =>
        event.type === 'ReferralStarted' ? [`${prefix}${event.referrer.account}`] : [],
      ),
    );
    for (const stream of streams) referrers.delete(stream);
    const events = [...own];
    for (const stream of referrers) events.push(...(await this.erasuresIn(stream)));
    events.sort((a, b) => core.log.compare(a.position, b.position));
    await this.fold(events);
    await this.noteForgotten();
    await this.compare('accounts');
    return events;
  }

  private async eventsOf(stream: string): Promise<RecordedEvent[]> {
    const events: RecordedEvent[] = [];
    for await (const event of this.core.log.readStream(stream)) {
      if (this.core.log.compare(event.position, this.bound) > 0) break;
      events.push(event);
    }
    return events;
  }

  /** They change rows of the accounts that the account referred. */
  private async erasuresIn(stream: string): Promise<readonly RecordedEvent[]> {
    const erasures =
      this.erasures.get(stream) ??
      (await this.eventsOf(stream)).filter(({ type }) => ERASURE_TYPES.has(type));
    this.erasures.set(stream, erasures);
    return erasures;
  }

  private count(event: RecordedEvent): void {
    const { position, stream } = event;
    const { positions } = this;
    const { log } = this.core;
    const { upTo, until = Infinity } = this.selection;
    const isSelected =
      upTo === undefined ? effectiveTimeOf(event) <= until : log.compare(position, upTo) <= 0;
    if (isSelected) this.events += 1;
    const isPast = upTo !== undefined || until < Infinity;
    if (isPast && positions.some((at) => log.compare(position, at) <= 0 !== isSelected))
      this.comparison.changed.add(stream.slice(this.prefix.length));
  }

  /** In the order of the log. */
  private async fold(recorded: readonly RecordedEvent[]): Promise<void> {
    const { comparison, core } = this;
    for (const some of inChunks(recorded, PAGE)) {
      for (const event of await this.decode(some)) {
        const { event: happened, accountRef, position } = event;
        if (happened.type === 'AccountOpened' && happened.accountId.value !== null)
          comparison.folded.set(accountRef, happened.accountId.value);
        if (happened.type === 'UserIdentified') comparison.identified(happened.person, accountRef);
        this.eventId = event.eventId;
        for (const fold of this.folds)
          if (core.log.compare(position, fold.until) <= 0) this.apply(fold, event);
      }
      await this.work.pauseForRequests?.();
    }
  }

  private apply(fold: ProjectionFold, event: LedgerEvent): void {
    const parkedBefore = fold.parked.length;
    fold.apply(event);
    const account = this.comparison.folded.get(event.accountRef);
    if (fold.parked.length === parkedBefore || account === undefined) return;
    // It contradicts the rows: the read model has stopped there.
    const [ledger, live] = presenceOf(true);
    const field = rowName('events', [String(event.revision)]);
    const { eventId } = event;
    const readModel = fold.projector.name;
    this.found.push({ account, readModel, field, ledger, live, eventIds: [eventId] });
  }

  private async decode(recorded: readonly RecordedEvent[]): Promise<readonly LedgerEvent[]> {
    return (await decodeForProjectors(this.core.codec)(recorded)).map((result) => {
      if ('event' in result) return result;
      throw new UnreadableEvent(`revision ${result.revision} of a stream: ${result.undecodable}`);
    });
  }

  /** Rows of people whose keys are destroyed cannot be folded as read models still have them. */
  private async noteForgotten(): Promise<void> {
    const { core, comparison, noted: after } = this;
    const upTo = await core.log.head();
    for await (const page of logPages(core.log, { after, upTo, limit: PAGE })) {
      const late = page.filter(
        ({ type, stream }) => ERASURE_TYPES.has(type) && stream.startsWith(this.prefix),
      );
      for (const erasure of (await this.decode(late)).map(forgottenBy)) {
        if (!erasure) continue;
        comparison.changed.add(erasure.accountRef);
        for (const person of erasure.persons) comparison.forgotten.add(person);
      }
      this.noted = page.at(-1)?.position;
    }
  }

  private async compare(of: 'accounts' | 'rest'): Promise<void> {
    for (const fold of this.folds)
      for await (const difference of this.comparison.differences(fold, of))
        this.found.push(difference);
  }

  /** Without `resumeFrom` it continues at the beginning. */
  private stopped(resumeFrom: Position | undefined): NotDone {
    const accounts = this.comparison.compared.size;
    const found = `stopped; ${this.found.length} differences in ${accounts} accounts so far`;
    return notDone((word) =>
      resumeFrom === undefined
        ? found
        : `${found}; continue with ${word('resumeFrom')} ${resumeFrom}`,
    );
  }

  result() {
    const { compared, folded, changed } = this.comparison;
    const { asked, until } = this.selection;
    const reached = until === undefined ? this.positions[0] : this.newest;
    const isRead = (account: AccountRef): boolean => compared.has(account) || folded.has(account);
    return {
      /** The end of the folded part of the log; null: the log is empty. */
      position: asked ?? reached ?? null,
      /** Number of folded account events. */
      events: this.events,
      /** Accounts of an earlier selection that changed since: folded, and compared with nothing. */
      notCompared: [...changed].filter(isRead).length,
      differences: this.found as readonly Difference[],
    };
  }
}
