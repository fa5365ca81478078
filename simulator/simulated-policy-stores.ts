import type { CheckpointMove, HandlerCheckpoint } from '../src/following/checkpoints.js';
import { CheckpointMoved } from '../src/following/handler.js';
import type { TrailPoint } from '../src/following/trail.js';
import type { Locks } from '../src/postgres/leadership.js';
import {
  ALL_POLICIES,
  type ParkedAt,
  type ParkedCounts,
  type ParkedReaction,
  type ParkedStreams,
  type Settlement,
  type UnknownEvent,
} from '../src/reacting/parked-reactions.js';
import type { ParkedReactions } from '../src/reacting/postgres-parked-reactions.js';
import { type PolicyCheckpoints } from '../src/reacting/policy-checkpoint.js';
import type { PolicyStores } from '../src/reacting/policy-stores.js';
import type { SeenEvent } from '../src/event-log/event-log.js';
import type { Line } from './connection.js';
import { StoreAway } from './store-away.js';
import type { Owner } from './virtual-world.js';

const away = (): Error => new StoreAway('the simulated database is away');
const NEXT_TRY_MS = 1_000;

interface Row {
  readonly parked: ParkedReaction;
  unknown: UnknownEvent | undefined;
  nextTryAt: number;
}

/** What the policies of all processes share. */
export class SimulatedPolicyTable {
  checkpoint: HandlerCheckpoint | undefined;
  rows: Row[] = [];
  /** What retries carried out. */
  retried: ParkedReaction[] = [];
  /** By name. */
  readonly locks = new Map<string, SimulatedLocks>();
  private ids = 0;

  constructor(readonly clock: () => number) {}

  nextId(): string {
    return String((this.ids += 1));
  }

  /** After a loss of the log's end: perhaps it lost the effects. */
  parkRetriedAgain(holds: (event: SeenEvent) => boolean): void {
    for (const parked of this.retried.splice(0)) {
      const { eventId, policy } = parked;
      const isParked = this.rows.some(
        ({ parked: row }) => row.eventId === eventId && row.policy === policy,
      );
      if (isParked || !holds(parked)) continue;
      const again = { ...parked, id: this.nextId(), tries: 0, passedOver: 0n };
      this.rows.push({ parked: again, unknown: undefined, nextTryAt: this.clock() });
    }
  }

  moveBack(trail: readonly TrailPoint[]): void {
    const { checkpoint } = this;
    if (checkpoint === undefined) return;
    const { reached: position = null, witness } = trail.at(-1) ?? {};
    this.checkpoint = { ...checkpoint, position, witness, trail, version: checkpoint.version + 1n };
  }
}

/** Locks of one process; they end with it, and when its connection does. */
export class SimulatedLocks implements Locks {
  private readonly listeners: (() => void)[] = [];
  /** As the process believes, and as the server has it. */
  private isConnected = false;
  private hasSession = false;

  constructor(
    private readonly table: SimulatedPolicyTable,
    private readonly line: Line,
    private readonly owner: Owner,
  ) {}

  onLost(listener: () => void): void {
    this.listeners.push(listener);
  }

  async take(names: readonly string[]): Promise<readonly string[]> {
    try {
      const isNew = !this.isConnected;
      const taken = await this.line.read('locks', away, () => {
        if (!isNew && !this.hasSession) throw away();
        this.hasSession = true;
        const free = names.filter((name) => {
          const holder = this.table.locks.get(name);
          return holder === undefined || !holder.owner.isAlive;
        });
        for (const name of free) this.table.locks.set(name, this);
        return free;
      });
      this.isConnected = true;
      return taken;
    } catch (error) {
      this.cut();
      throw error;
    }
  }

  release(): void {
    this.cut();
  }

  /** Its connection breaks: the server releases the locks, and the process learns of it. */
  cut(): void {
    this.free();
    this.isConnected = false;
    for (const listener of this.listeners) listener();
  }

  /** The server takes the process for dead; the process does not know. */
  free(): void {
    this.hasSession = false;
    for (const [name, holder] of this.table.locks)
      if (holder === this) this.table.locks.delete(name);
  }
}

class SimulatedCheckpoints implements PolicyCheckpoints {
  constructor(
    private readonly table: SimulatedPolicyTable,
    private readonly line: Line,
  ) {}

  load(): Promise<HandlerCheckpoint | undefined> {
    return this.line.read('checkpoint', away, () => this.table.checkpoint);
  }

  begin(): Promise<void> {
    return this.line.write('checkpoint', away, () => {
      const movedAt = this.table.clock();
      this.table.checkpoint ??= {
        position: null,
        witness: undefined,
        trail: [],
        version: 0n,
        movedAt,
      };
    });
  }

  write(version: bigint, { reached, witness, trail }: CheckpointMove): Promise<bigint> {
    return this.line.write('checkpoint', away, () => {
      const before = this.table.checkpoint;
      if (before?.version !== version) throw new CheckpointMoved('policies');
      this.table.checkpoint = {
        position: reached,
        witness,
        trail: trail ?? before.trail,
        version: version + 1n,
        movedAt: this.table.clock(),
      };
      return version + 1n;
    });
  }
}

class SimulatedParkedReactions implements ParkedReactions {
  constructor(
    private readonly table: SimulatedPolicyTable,
    private readonly line: Line,
  ) {}

  park(parkedAt: ParkedAt): Promise<void> {
    return this.change(() => this.insert(parkedAt));
  }

  isEmpty(): Promise<boolean> {
    return this.ask(() => this.table.rows.length === 0);
  }

  streams(): Promise<ParkedStreams> {
    return this.ask(() => byStream(this.table.rows));
  }

  keepParked(streams: readonly string[]): Promise<ParkedStreams> {
    return this.change(() => {
      const marked = this.table.rows.filter(({ parked }) => streams.includes(parked.stream));
      for (const row of marked) this.replace(row, { passedOver: row.parked.passedOver + 1n });
      return byStream(marked);
    });
  }

  ofStream(stream: string): Promise<readonly ParkedReaction[]> {
    return this.ask(() =>
      this.table.rows
        .flatMap(({ parked }) => (parked.stream === stream ? [{ ...parked }] : []))
        .sort((a, b) => Number(a.revision - b.revision) || Number(a.id) - Number(b.id)),
    );
  }

  dueStreams(limit: number): Promise<readonly string[]> {
    return this.ask(() => {
      const due = this.table.rows
        .filter(({ nextTryAt }) => nextTryAt <= this.table.clock())
        .sort((a, b) => a.nextTryAt - b.nextTryAt);
      return [...new Set(due.map(({ parked }) => parked.stream))].slice(0, limit);
    });
  }

  unknownEvents(): Promise<readonly UnknownEvent[]> {
    return this.ask(() => {
      const events = this.table.rows.flatMap(({ unknown }) => (unknown ? [unknown] : []));
      return [...new Map(events.map((event) => [JSON.stringify(event), event])).values()];
    });
  }

  heldBackBy(events: readonly UnknownEvent[], limit: number): Promise<readonly string[]> {
    return this.ask(() => {
      const streams = this.table.rows.flatMap(({ parked, unknown }) =>
        unknown &&
        events.some(({ type, version }) => type === unknown.type && version === unknown.version)
          ? [parked.stream]
          : [],
      );
      return [...new Set(streams)].slice(0, limit);
    });
  }

  tryAllSoon(): Promise<void> {
    return this.change(() => {
      const at = this.table.clock();
      for (const row of this.table.rows) row.nextTryAt = Math.min(row.nextTryAt, at);
    });
  }

  postpone(rows: readonly Pick<ParkedReaction, 'id'>[], reason: string): Promise<void> {
    return this.change(() => {
      const ids = new Set(rows.map(({ id }) => id));
      for (const row of this.table.rows)
        if (ids.has(row.parked.id)) {
          row.nextTryAt = this.table.clock() + NEXT_TRY_MS;
          this.replace(row, { tries: row.parked.tries + 1, reason });
        }
    });
  }

  settle(_stream: string, { stopped, added, done }: Settlement): Promise<boolean> {
    return this.change(() => {
      for (const { rows, to } of stopped) this.stop(rows, to);
      for (const parkedAt of added) this.insert(parkedAt);
      const before = this.table.rows.length;
      const finished = new Map(done.map(({ id, passedOver }) => [id, passedOver]));
      const isFinished = ({ parked }: Row): boolean =>
        finished.get(parked.id) === parked.passedOver;
      this.table.retried.push(...this.table.rows.filter(isFinished).map(({ parked }) => parked));
      this.table.rows = this.table.rows.filter((row) => !isFinished(row));
      return before - this.table.rows.length === done.length;
    });
  }

  counts(): Promise<ParkedCounts> {
    return this.ask(() => ({
      parked: this.table.rows.filter(({ parked }) => parked.policy !== ALL_POLICIES).length,
      heldBack: new Set(
        this.table.rows.flatMap(({ parked }) =>
          parked.policy === ALL_POLICIES ? [parked.stream] : [],
        ),
      ).size,
      oldestSeconds: 0,
      parkedBecause: this.table.rows.at(-1)?.parked.reason ?? null,
    }));
  }

  private insert(to: ParkedAt): void {
    const known = this.table.rows.find(
      ({ parked }) => parked.eventId === to.event.id && parked.policy === to.policy,
    );
    if (known) {
      const { revision } = to.event;
      const passedOver = known.parked.passedOver + 1n;
      this.replace(known, { revision, reason: to.reason, passedOver });
      return;
    }
    this.table.rows.push({
      parked: {
        id: this.table.nextId(),
        ...placeOf(to),
        since: new Date(this.table.clock()),
        tries: 1,
        passedOver: 0n,
      },
      unknown: to.unknown,
      nextTryAt: this.table.clock() + NEXT_TRY_MS,
    });
  }

  private stop(rows: readonly ParkedReaction[], to: ParkedAt): void {
    const ids = new Set(rows.map(({ id }) => id));
    const own = this.table.rows.filter(({ parked }) => ids.has(parked.id));
    const kept =
      this.table.rows.find(
        ({ parked }) => parked.policy === to.policy && parked.eventId === to.event.id,
      ) ?? own[0];
    this.table.retried.push(
      ...own.flatMap(({ parked }) => (parked.eventId === to.event.id ? [] : [{ ...parked }])),
    );
    this.table.rows = this.table.rows.filter((row) => row === kept || !own.includes(row));
    if (!kept) return;
    const isSame = kept.parked.eventId === to.event.id;
    this.replace(kept, { ...placeOf(to), tries: isSame ? kept.parked.tries + 1 : 1 });
    kept.unknown = to.unknown;
    kept.nextTryAt = this.table.clock() + NEXT_TRY_MS;
  }

  private replace(row: Row, changes: Partial<ParkedReaction>): void {
    Object.assign(row.parked, changes);
  }

  private ask<T>(question: () => T): Promise<T> {
    return this.line.read('parked', away, question);
  }

  private change<T>(work: () => T): Promise<T> {
    return this.line.write('parked', away, work);
  }
}

const placeOf = ({ policy, event, reason }: ParkedAt) => ({
  policy,
  eventId: event.id,
  stream: event.stream,
  revision: event.revision,
  position: event.position,
  reason,
});

function byStream(rows: readonly Row[]): ParkedStreams {
  const streams: ParkedStreams = new Map();
  for (const { parked } of rows)
    streams.set(parked.stream, (streams.get(parked.stream) ?? new Set()).add(parked.policy));
  return streams;
}

/** The stores of the policies as one process reaches them. */
export function simulatedPolicyStores(table: SimulatedPolicyTable, line: Line): PolicyStores {
  return {
    checkpoints: new SimulatedCheckpoints(table, line),
    parked: new SimulatedParkedReactions(table, line),
    answer: () => line.read('database', away, () => undefined),
  };
}
