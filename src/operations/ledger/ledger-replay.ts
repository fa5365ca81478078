import type { Core } from '../../core/core.js';
import { isServiceRunning } from '../../core/followed-log.js';
import type { AccountEvent } from '../../domain/account/account.events.js';
import type { AccountRef, Scope } from '../../domain/scope.js';
import type { EventLog, Position, RecordedEvent } from '../../event-log/event-log.js';
import { pages } from '../../event-log/event-pages.js';
import { pause } from '../../foundation/pause.js';
import { accountRefOf } from '../../privacy/keyed-names.js';
import { liveCheckpoints } from '../../projecting/checkpoints.js';
import type { Done } from '../audited.js';
import { NotDone, type Outcome } from '../outcome.js';
import {
  ACCOUNTS_AT_ONCE,
  accountsInLog,
  findAccount,
  pagesOf,
  type FoundAccount,
} from './ledger-entries.js';
import { select, type Selection, type SelectionOptions } from './ledger-selection.js';
import { compareBatch, type AccountInBatch } from './replay/comparison.js';
import type { Difference } from './replay/difference.js';
import { DAILY_FIGURES, ExpectedDays } from './replay/expected-days.js';
import { foldAccount, keysOf, type KnownEvent } from './replay/folded-account.js';
import { COMPARED, READ_MODELS, ReadModelSnapshot, type LiveRow } from './replay/live-rows.js';

export interface ReplayRequest extends Pick<SelectionOptions, 'asOf' | 'position'> {
  readonly accountId?: string;
  /** The end of an earlier run: the accounts up to it are skipped. */
  readonly resumeFrom?: Position;
}

export interface Replay {
  /** The end of the folded part of the log; null: the log is empty. */
  readonly position: Position | null;
  /** Number of folded account events. */
  readonly events: number;
  /** Accounts of an earlier selection that changed since: folded, and compared with nothing. */
  readonly notCompared: number;
  readonly differences: readonly Difference[];
}

export interface ReplayOptions {
  readonly signal?: AbortSignal;
  readonly onProgress?: (accounts: number, total: number) => void;
  /** Waits between accounts as long as others come first. */
  readonly giveWay?: () => Promise<void>;
}

type ReplayCore = Pick<Core, 'log' | 'codec' | 'names' | 'pool'>;

const CATCH_UP_MS_MAX = 10_000;
const BATCH = { accounts: 100, events: 5_000 };

/** What a replay is of. */
interface Replayed {
  readonly selection: Selection;
  /** Undefined: every account. */
  readonly one: FoundAccount | undefined;
  /** Accounts behind it; undefined: from the first one on. */
  readonly after: Position | undefined;
}

/** Refused for what a replay would be refused for before it reads anything. */
export async function selectReplayed(
  core: Pick<ReplayCore, 'log' | 'names'>,
  scope: Scope,
  { accountId, asOf, position, resumeFrom }: ReplayRequest,
): Promise<Outcome<Replayed>> {
  const selection = await select(core.log, { asOf, position });
  if (selection instanceof NotDone) return selection;
  const from = await select(core.log, { position: resumeFrom });
  if (from instanceof NotDone) return from;
  const one = accountId === undefined ? undefined : await findAccount(core, scope, accountId);
  return one instanceof NotDone ? one : { selection, one, after: from.upTo };
}

/**
 * `ledger replay`: folds every account by the rules that decisions use and compares it with the
 * rows of the live read models, all read from one snapshot. A read model is compared at its own
 * position; for an earlier selection, an account is compared when nothing happened to it since, and
 * otherwise only folded. Writes nothing. @throws {UnreadableEvent}
 */
export async function replayLedger(
  core: ReplayCore,
  scope: Scope,
  request: ReplayRequest,
  options: ReplayOptions = {},
): Promise<Outcome<Replay>> {
  const replayed = await selectReplayed(core, scope, request);
  if (replayed instanceof NotDone) return replayed;
  const { selection, one, after } = replayed;
  if (selection.upTo !== undefined)
    await untilReadModelsReach(core, selection.upTo, options.signal);
  const snapshot = await ReadModelSnapshot.open(core.pool);
  if (snapshot instanceof NotDone) return snapshot;
  try {
    const run = new ReplayRun(core, scope, selection, snapshot, options);
    return await (one ? run.account(one.ref, one.stream) : run.everyAccount(after));
  } finally {
    await snapshot.close();
  }
}

/** Read models may lag behind the newest events; while a service runs, they soon catch up. */
async function untilReadModelsReach(
  { log, pool }: ReplayCore,
  position: Position,
  signal = new AbortController().signal,
): Promise<void> {
  const end = performance.now() + CATCH_UP_MS_MAX;
  const isThere = async (): Promise<boolean> =>
    (await liveCheckpoints(pool, COMPARED)).every(
      (checkpoint) => log.compare(checkpoint.position, position) >= 0,
    );
  while (
    !(await isThere()) &&
    (await isServiceRunning(pool)) &&
    performance.now() < end &&
    !signal.aborted
  )
    await pause(50, signal);
}

interface AccountOfRun extends AccountInBatch {
  readonly keys: ReturnType<typeof keysOf>;
}

class ReplayRun {
  private readonly differences: Difference[] = [];
  private readonly days = new ExpectedDays();
  private readonly seen = new Map<string, number>();
  private readonly bound: Position | undefined;
  private readonly log: EventLog;
  private events = 0;
  private accounts = 0;
  private notCompared = 0;
  private newest: Position | undefined;

  constructor(
    private readonly core: ReplayCore,
    private readonly scope: Scope,
    private readonly selection: Selection,
    private readonly snapshot: ReadModelSnapshot,
    private readonly options: ReplayOptions,
  ) {
    this.log = core.log;
    this.bound = this.positions().at(-1);
  }

  async account(ref: AccountRef, stream: string): Promise<Replay> {
    await this.compare([await this.read(ref, stream)]);
    return this.result();
  }

  async everyAccount(resumeFrom: Position | undefined): Promise<Outcome<Replay>> {
    const { names } = this.core;
    const prefix = names.accountStream(this.scope, '');
    const total = await this.snapshot.accountsOf(this.scope);
    let batch: AccountOfRun[] = [];
    let done = resumeFrom;
    const finish = async (): Promise<void> => {
      await this.compare(batch);
      batch = [];
      this.options.onProgress?.(this.accounts, Math.max(total, this.accounts));
    };
    const onEvent = (event: RecordedEvent): void => this.sawEvent(event);
    const accounts = accountsInLog(this.log, prefix, {
      after: resumeFrom,
      upTo: this.bound,
      onEvent,
    });
    for await (const some of pagesOf(accounts, ACCOUNTS_AT_ONCE)) {
      if (this.options.signal?.aborted) return this.stopped(done);
      batch.push(
        ...(await Promise.all(
          some.map(({ stream }) => this.read(accountRefOf(stream) ?? '', stream)),
        )),
      );
      const isFull =
        batch.length >= BATCH.accounts ||
        batch.reduce((sum, { events }) => sum + events.length, 0) >= BATCH.events;
      await this.options.giveWay?.();
      if (!isFull) continue;
      await finish();
      done = some.at(-1)?.position;
    }
    await finish();
    if (resumeFrom === undefined) {
      await this.countRows();
      this.differences.push(...this.days.differences(await this.snapshot.days(this.scope)));
    }
    return this.result();
  }

  /** The positions of the read models, and the selected one; oldest first. */
  private positions(): Position[] {
    const { upTo } = this.selection;
    const all = [...this.snapshot.checkpoints.values()].map(({ position }) => position);
    return [...all, upTo]
      .filter((position) => position !== undefined)
      .sort((a, b) => this.log.compare(a, b));
  }

  private sawEvent({ position, recordedAt }: RecordedEvent): void {
    const counts =
      recordedAt <= (this.selection.until ?? Infinity) &&
      this.log.compare(position, this.newest) > 0;
    if (counts) this.newest = position;
  }

  private async read(ref: AccountRef, stream: string): Promise<AccountOfRun> {
    const recorded: RecordedEvent[] = [];
    const events: KnownEvent[] = [];
    let name: string | null = null;
    for await (const page of pages(this.upToBound(stream))) {
      for (const { event, recorded: stored } of await this.core.codec.decodeAll(page)) {
        recorded.push(stored);
        events.push({ eventId: stored.id, event: event as AccountEvent });
        if (event.type === 'AccountOpened') name = event.accountId.value;
      }
    }
    this.accounts += 1;
    const wanted = this.selectedOf(recorded);
    const reached = this.reachedBy(recorded);
    this.events += wanted ?? Math.max(0, ...reached.values());
    const foldedFor = this.foldingTo(events, (readModel) => {
      const count = reached.get(readModel);
      return wanted === undefined || wanted === count ? count : undefined;
    });
    if (READ_MODELS.some((readModel) => foldedFor(readModel) === undefined)) this.notCompared += 1;
    const keys = keysOf(events);
    return { ref, name: name ?? 'anonymous', persons: keys.persons, events, keys, foldedFor };
  }

  private async *upToBound(stream: string): AsyncIterable<RecordedEvent> {
    if (this.bound === undefined) return;
    for await (const event of this.log.readStream(stream)) {
      if (this.log.compare(event.position, this.bound) > 0) return;
      this.sawEvent(event);
      yield event;
    }
  }

  /** Number of an account's selected events; undefined: as many as each read model has applied. */
  private selectedOf(recorded: readonly RecordedEvent[]): number | undefined {
    const { upTo, until } = this.selection;
    if (upTo !== undefined)
      return recorded.filter(({ position }) => this.log.compare(position, upTo) <= 0).length;
    return until === undefined
      ? undefined
      : recorded.filter(({ recordedAt }) => recordedAt <= until).length;
  }

  /**
   * How many of an account's events each read model has applied. Most read models have the same
   * position, so events are counted once for each position.
   */
  private reachedBy(recorded: readonly RecordedEvent[]): ReadonlyMap<string, number> {
    const counts = new Map<Position | undefined, number>();
    return new Map(
      READ_MODELS.map((readModel) => {
        const at = this.snapshot.checkpoints.get(readModel)?.position;
        const count =
          counts.get(at) ??
          recorded.filter(({ position }) => this.log.compare(position, at) <= 0).length;
        counts.set(at, count);
        return [readModel, count];
      }),
    );
  }

  /** Read models nearly always have the same position, so an account is folded once. */
  private foldingTo(
    events: readonly KnownEvent[],
    countFor: (readModel: string) => number | undefined,
  ): AccountInBatch['foldedFor'] {
    const folds = new Map<number, ReturnType<AccountInBatch['foldedFor']>>();
    return (readModel) => {
      const count = countFor(readModel);
      if (count === undefined) return undefined;
      const known = folds.get(count);
      if (known) return known;
      const counted = events.slice(0, count);
      const made = { folded: foldAccount(counted), events: counted };
      folds.set(count, made);
      return made;
    };
  }

  private async compare(batch: readonly AccountOfRun[]): Promise<void> {
    const rows = await this.snapshot.rowsOf({
      accountRefs: batch.map(({ ref }) => ref),
      persons: batch.flatMap(({ keys }) => keys.persons),
      rewardIds: batch.flatMap(({ keys }) => keys.rewardIds),
      rewardedReferralIds: batch.flatMap(({ keys }) => keys.rewardedReferralIds),
    });
    this.count(rows);
    this.differences.push(...compareBatch(batch, rows, this.scope));
    for (const { foldedFor } of batch) this.days.add(foldedFor(DAILY_FIGURES)?.events);
  }

  private count(rows: readonly LiveRow[]): void {
    for (const { readModel, table } of rows) {
      const place = JSON.stringify([readModel, table.name]);
      this.seen.set(place, (this.seen.get(place) ?? 0) + 1);
    }
  }

  /** Rows that no account of the log has are found by the count only. */
  private async countRows(): Promise<void> {
    for (const { readModel, table, rows } of await this.snapshot.counts(this.scope)) {
      const ledger = this.seen.get(JSON.stringify([readModel, table])) ?? 0;
      if (ledger !== rows)
        this.differences.push({
          account: 'unknown',
          readModel,
          field: table,
          ledger,
          live: rows,
          eventIds: [],
        });
    }
  }

  private stopped(resumeFrom: Position | undefined): NotDone {
    const { differences, accounts } = this;
    return new NotDone({
      code: 'REPLAY_STOPPED',
      differences: differences.length,
      accounts,
      resumeFrom,
    });
  }

  private result(): Replay {
    const { asked, until } = this.selection;
    const position = asked ?? (until === undefined ? this.positions()[0] : this.newest);
    const { events, notCompared, differences } = this;
    return { position: position ?? null, events, notCompared, differences };
  }
}

/** As `replayLedger`, with what its audit event contains. */
export async function replayOnRecord(
  core: ReplayCore,
  scope: Scope,
  request: ReplayRequest,
  options: ReplayOptions,
): Promise<Outcome<Done<Replay>>> {
  const result = await replayLedger(core, scope, request, options);
  if (result instanceof NotDone) return result;
  const { accountId, ...selection } = request;
  const account = accountId === undefined ? undefined : core.names.accountRef(scope, accountId);
  return { result, parameters: { account, ...selection } };
}
