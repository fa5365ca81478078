import { deterministicId } from '../src/command-handling/deterministic-id.js';
import { newId } from '../src/foundation/world.js';
import type { AnswerRow, AnswerRows } from '../src/idempotency/answer-rows.js';
import {
  requestName,
  type ClaimedCommand,
  type KeyedRequest,
} from '../src/idempotency/idempotency-key.js';
import type { Line } from './connection.js';
import { StoreAway } from './store-away.js';

interface Row {
  readonly fingerprint: string;
  answer: Buffer | null;
  /** Undefined: released. */
  owner: number | undefined;
  commandId: string;
  createdAt: number;
  /** Of the log when it was answered; undefined: unknown. */
  logPosition?: bigint | undefined;
}

const away = (): Error => new StoreAway('the simulated database is away');
const DAY_MS = 86_400_000;
/** As long as a recorded effect answers for its key. */
const OLD_MS = 7 * DAY_MS;

/** The kept answers as their server holds them, and which processes it knows to be alive. */
export class SimulatedAnswerTable {
  readonly rows = new Map<string, Row>();
  readonly present = new Set<number>();

  /** @param clock epoch milliseconds of the server. */
  constructor(readonly clock: () => number) {}

  /** The answers of that age go, as the nightly purge does it. */
  purge(olderThanMs = OLD_MS): void {
    for (const [name, { createdAt }] of this.rows)
      if (createdAt < this.clock() - olderThanMs) this.rows.delete(name);
  }

  /** Requests that a living process holds and has not answered. */
  get held(): readonly string[] {
    return [...this.rows].flatMap(([name, { answer, owner }]) =>
      answer === null && owner !== undefined && this.present.has(owner) ? [name] : [],
    );
  }

  /** Answers from behind this position of the log go, and leave claims without an owner. */
  forgetBehind(position: bigint): void {
    for (const row of this.rows.values()) {
      if (row.answer === null || (row.logPosition ?? position + 1n) <= position) continue;
      row.answer = null;
      row.owner = undefined;
    }
  }
}

/** The kept answers as one process reaches them. */
export class SimulatedAnswerRows implements AnswerRows {
  constructor(
    private readonly table: SimulatedAnswerTable,
    private readonly line: Line,
    /** The id under which this process is present. */
    private readonly owner: number,
  ) {}

  get isOpen(): boolean {
    return true;
  }

  take(request: KeyedRequest): Promise<ClaimedCommand | undefined> {
    const commandId = newId();
    return this.change(() => {
      const name = requestName(request);
      const at = this.table.clock();
      const row = this.table.rows.get(name);
      if (row === undefined) {
        const { fingerprint } = request;
        const { owner } = this;
        this.table.rows.set(name, { fingerprint, answer: null, owner, commandId, createdAt: at });
        return { commandId, askedAt: at };
      }
      const isFree =
        row.owner === undefined || row.owner === this.owner || !this.table.present.has(row.owner);
      if (row.answer !== null || row.fingerprint !== request.fingerprint || !isFree)
        return undefined;
      row.owner = this.owner;
      if (row.createdAt < at - OLD_MS) {
        row.commandId = commandId;
        row.createdAt = at;
      }
      return { commandId: row.commandId, askedAt: at };
    });
  }

  find(request: KeyedRequest): Promise<AnswerRow | undefined> {
    return this.line.read('answers', away, () => {
      const row = this.table.rows.get(requestName(request));
      return row && { fingerprint: row.fingerprint, answer: row.answer };
    });
  }

  keep(request: KeyedRequest, answer: Buffer, logPosition?: bigint): Promise<void> {
    return this.change(() => {
      const name = requestName(request);
      const row = this.table.rows.get(name);
      if (row && row.fingerprint !== request.fingerprint) return;
      const { fingerprint } = request;
      this.table.rows.set(name, {
        fingerprint,
        answer,
        owner: row ? row.owner : this.owner,
        commandId: row?.commandId ?? deterministicId(name, 'request'),
        createdAt: this.table.clock(),
        logPosition,
      });
    });
  }

  forgetAnswer(request: KeyedRequest): Promise<void> {
    return this.change(() => {
      const row = this.table.rows.get(requestName(request));
      if (!row || row.answer === null) return;
      row.answer = null;
      row.owner = undefined;
    });
  }

  drop(request: KeyedRequest): Promise<void> {
    return this.change(() => {
      const row = this.own(request);
      if (row?.fingerprint === request.fingerprint) this.table.rows.delete(requestName(request));
    });
  }

  release(request: KeyedRequest): Promise<void> {
    return this.change(() => {
      const row = this.own(request);
      if (row) row.owner = undefined;
    });
  }

  private own(request: KeyedRequest): Row | undefined {
    const row = this.table.rows.get(requestName(request));
    return row?.owner === this.owner && row.answer === null ? row : undefined;
  }

  private change<T>(work: () => T): Promise<T> {
    return this.line.write('answers', away, work);
  }
}
