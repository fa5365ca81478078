import type { Core } from '../../../stores/core.js';
import type { AccountRef, Scope } from '../../../domain/scope.js';
import type { EventLog, Position, RecordedEvent } from '../../../event-log/event-log.js';
import { UnreadableEvent } from '../../../event-log/event-schemas.js';
import { decodeForProjectors } from '../../../projecting/decode-events.js';
import { knownTypesOf } from '../../../projecting/generations/catch-up.js';
import { foldLog, ProjectionFold } from '../../../projecting/generations/log-fold.js';
import { forgottenBy, type DecodeEvents } from '../../../projecting/projector.js';
import { NotDone, type Outcome } from '../../outcome.js';
import type { FoundAccount } from '../ledger-entries.js';
import type { Selection } from '../ledger-selection.js';
import { AccountLog, isErasure } from './account-log.js';
import { compareFold, ReplayedAccounts, type ComparedWith } from './comparison.js';
import { eventName, PRESENCE, type Difference, type Finding } from './difference.js';
import { explain } from './explanation.js';
import { accountProjectors } from '../../../../projections/account-projectors.js';
import { type ReadModelSnapshot } from './live-rows.js';

export type Replay = ReturnType<ReplayRun['result']>;

export interface ReplayOptions {
  readonly signal?: AbortSignal;
  readonly onProgress?: (accounts: number, total: number) => void;
  /** Waits between pages of events and rows as long as others come first. */
  readonly giveWay?: () => Promise<void>;
  /** Rows in memory; further accounts wait for another pass. Default half a million. */
  readonly rowsMax?: number;
  readonly pageSize?: number;
}

const KNOWN_TYPES = knownTypesOf({ projectors: accountProjectors });
const ROWS_MAX = 500_000;
const PAGE = 500;

/** A replay of one snapshot of the read models. */
export class ReplayRun {
  private readonly differences: Difference[] = [];
  private readonly accounts = new ReplayedAccounts();
  private readonly folds: readonly ProjectionFold[];
  /** The positions of the read models, oldest first, each once. */
  private readonly positions: readonly (Position | undefined)[];
  /** The end of what is folded. */
  private readonly bound: Position | undefined;
  private readonly prefix: string;
  private readonly log: EventLog;
  private readonly late: RecordedEvent[] = [];
  private events = 0;
  private newest: Position | undefined;

  constructor(
    private readonly core: Pick<Core, 'log' | 'codec' | 'names'>,
    private readonly scope: Scope,
    private readonly selection: Selection,
    private readonly snapshot: ReadModelSnapshot,
    private readonly options: ReplayOptions,
  ) {
    const { log, names } = core;
    this.log = log;
    const checkpoints = [...snapshot.checkpoints.values()].map(({ position }) => position);
    const reached = [...new Set(checkpoints)].filter((position) => position !== undefined);
    const inOrder = reached.sort((a, b) => log.compare(a, b));
    // A sort would leave a read model that has not begun at the end, as the newest.
    this.positions = checkpoints.includes(undefined) ? [undefined, ...inOrder] : inOrder;
    const newest = inOrder.at(-1);
    this.bound = log.compare(selection.upTo, newest) > 0 ? selection.upTo : newest;
    this.prefix = names.accountStream(scope, '');
    this.folds = accountProjectors.map(
      (projector) =>
        new ProjectionFold(projector, snapshot.checkpoints.get(projector.name)?.position),
    );
  }

  async account({ ref, stream }: FoundAccount): Promise<Replay> {
    this.accounts.folded.add(ref);
    await this.fold(new AccountLog(this.core, this.scope, stream), undefined, () => false);
    await this.compare({ isWhole: false, inParts: false });
    return this.result();
  }

  /** In one pass over the log, or in several: each for the accounts opened in a part of it. */
  async everyAccount(resumeFrom: Position | undefined): Promise<Outcome<Replay>> {
    const { folded, compared } = this.accounts;
    const { onProgress, signal, rowsMax = ROWS_MAX } = this.options;
    const total = await this.snapshot.accountsOf(this.scope);
    const { names } = this.core;
    const others = [names.exportStream(this.scope, ''), names.operationsStreams(this.scope)];
    for (let from = resumeFrom; ;) {
      const { held } = this;
      let next: Position | undefined;
      const readAll: EventLog['readAll'] = async (after, limit) => {
        if (this.held - held > rowsMax) next ??= after;
        const page = await this.log.readAll(after, limit);
        if (next === undefined) this.admit(page);
        onProgress?.(compared.size + folded.size, Math.max(total, compared.size + folded.size));
        return page;
      };
      const isFirst = from === undefined;
      await this.fold(
        { readAll },
        from,
        (stream) => isFirst && others.some((beginning) => stream.startsWith(beginning)),
      );
      if (signal?.aborted) return this.stopped(from);
      const isWhole = next === undefined && resumeFrom === undefined;
      await this.compare({ isWhole, inParts: compared.size > 0 });
      if (next === undefined) return this.result();
      from = next;
    }
  }

  /** Number of rows in memory. */
  private get held(): number {
    return this.folds.reduce((sum, { rows }) => sum + rows.size, 0);
  }

  private admit(page: readonly RecordedEvent[]): void {
    for (const { stream, revision, position } of page)
      if (
        revision === 0n &&
        stream.startsWith(this.prefix) &&
        this.log.compare(position, this.bound) <= 0
      )
        this.accounts.folded.add(stream.slice(this.prefix.length));
  }

  /** Folds the events of the admitted accounts, of further streams, and all erasures. */
  private async fold(
    source: Pick<EventLog, 'readAll'>,
    from: Position | undefined,
    isOther: (stream: string) => boolean,
  ): Promise<void> {
    const { log, folds } = this;
    const { giveWay, signal = new AbortController().signal, pageSize = PAGE } = this.options;
    let read = from;
    const readAll = async (after: Position | undefined): Promise<readonly RecordedEvent[]> => {
      await giveWay?.();
      if (signal.aborted) return [];
      const page = await source.readAll(after, pageSize);
      for (const event of page) this.note(event);
      read = page.at(-1)?.position ?? read;
      return page;
    };
    for (const fold of folds) fold.position = from;
    await foldLog({
      log: { readAll, compare: (a, b) => log.compare(a, b) },
      decode: this.decode,
      folds,
      knownTypes: KNOWN_TYPES,
      signal,
      pageSize,
      wants: (event) => {
        const account = this.accountOf(event.stream);
        if (account === undefined) return isOther(event.stream);
        return this.accounts.folded.has(account) || isErasure(event);
      },
    });
    // Read models may not have applied an erasure whose keys are destroyed already.
    const head = await log.head();
    while (log.compare(read, head) < 0 && !signal.aborted)
      if ((await readAll(read)).length === 0) break;
  }

  private readonly decode: DecodeEvents = async (recorded) => {
    const decoded = await decodeForProjectors(this.core.codec)(recorded);
    for (const result of decoded) {
      if ('undecodable' in result)
        throw new UnreadableEvent(`revision ${result.revision} of a stream: ${result.undecodable}`);
      if (result.event.type === 'UserIdentified')
        this.accounts.ofPersons.set(result.event.person, result.accountRef);
    }
    return decoded;
  };

  private note(event: RecordedEvent): void {
    const { log, accounts, positions } = this;
    const { upTo, until } = this.selection;
    const { position, recordedAt } = event;
    const account = this.accountOf(event.stream);
    if (account !== undefined && isErasure(event) && log.compare(position, positions[0]) > 0)
      this.late.push(event);
    if (log.compare(position, this.bound) > 0) return;
    const isInTime = recordedAt <= (until ?? Infinity);
    if (isInTime && log.compare(position, this.newest) > 0) this.newest = position;
    if (account === undefined || !accounts.folded.has(account)) return;
    const isSelected = upTo === undefined ? isInTime : log.compare(position, upTo) <= 0;
    if (isSelected) this.events += 1;
    const isApplied = (at: Position | undefined): boolean => log.compare(position, at) <= 0;
    const isPast = upTo !== undefined || until !== undefined;
    if (isPast && positions.some((at) => isApplied(at) !== isSelected))
      accounts.changed.add(account);
  }

  private accountOf(stream: string): AccountRef | undefined {
    return stream.startsWith(this.prefix) ? stream.slice(this.prefix.length) : undefined;
  }

  private async compare(part: Pick<ComparedWith, 'isWhole' | 'inParts'>): Promise<void> {
    const { core, scope, snapshot, accounts, decode } = this;
    await this.noteForgotten();
    const { giveWay } = this.options;
    const findings: Finding[] = [];
    for (const fold of this.folds) {
      findings.push(...this.parkedBy(fold));
      const rows = compareFold(fold, { snapshot, scope, accounts, giveWay, ...part });
      for await (const finding of rows) findings.push(finding);
    }
    const explained = { core, scope, snapshot, decode };
    const isKnown = (account: AccountRef): boolean => accounts.has(account);
    for await (const difference of explain(findings, isKnown, explained))
      this.differences.push(difference);
    accounts.areCompared();
  }

  /** Rows of people whose keys are destroyed cannot be folded as read models still have them. */
  private async noteForgotten(): Promise<void> {
    for (const result of await this.decode(this.late.splice(0))) {
      const erasure = 'event' in result ? forgottenBy(result) : undefined;
      if (!erasure) continue;
      this.accounts.changed.add(erasure.accountRef);
      for (const person of erasure.persons) this.accounts.forgotten.add(person);
    }
  }

  /** Events that contradict the rows: the read model has stopped there. */
  private parkedBy({ projector, parked }: ProjectionFold): Finding[] {
    return parked.flatMap(({ stream, revision }): Finding[] => {
      const account = this.accountOf(stream);
      if (account === undefined || !this.accounts.folded.has(account)) return [];
      const row = eventName(revision);
      const { present: ledger, missing: live } = PRESENCE;
      return [{ account, isOfAccount: true, readModel: projector.name, row, ledger, live }];
    });
  }

  private stopped(resumeFrom: Position | undefined): NotDone {
    const accounts = this.accounts.compared.size;
    const differences = this.differences.length;
    return new NotDone({ code: 'REPLAY_STOPPED', differences, accounts, resumeFrom });
  }

  result() {
    const { events, differences, accounts } = this;
    const { asked, until } = this.selection;
    const reached = until === undefined ? this.positions[0] : this.newest;
    const notCompared = [...accounts.changed].filter((account) => accounts.has(account)).length;
    return {
      /** The end of the folded part of the log; null: the log is empty. */
      position: asked ?? reached ?? null,
      /** Number of folded account events. */
      events,
      /** Accounts of an earlier selection that changed since: folded, and compared with nothing. */
      notCompared,
      differences: differences as readonly Difference[],
    };
  }
}
