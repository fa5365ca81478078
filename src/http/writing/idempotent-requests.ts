import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { Pool } from 'pg';
import { deterministicId } from '../../command-handling/deterministic-id.js';
import { personal, type Personal, type SubjectId } from '../../domain/personal.js';
import type { Scope } from '../../domain/scope.js';
import { ProcessPresence } from '../../postgres/process-presence.js';
import { openValues, sealValues } from '../../privacy/sealed-values.js';
import { openBytes, sealBytes, type SubjectKeys } from '../../privacy/subject-keys.js';
import { ApiError } from '../edge/api-error.js';

/** An answer as it was given, to be given again. */
export interface KeptAnswer {
  readonly status: number;
  readonly body: unknown;
  readonly position: string | null;
}

/** Members of an answer's body that tell of somebody: kept under that subject's key, and null once it is destroyed. */
export interface Named {
  readonly subject: SubjectId;
  readonly members: readonly string[];
  /** What stands in place of members that are never null. */
  readonly empty?: Readonly<Record<string, unknown>>;
}

/** A request that carries an idempotency key; both parts as keyed hashes. */
export interface KeyedRequest {
  readonly scope: Scope;
  readonly key: string;
  readonly fingerprint: string;
}

/** Whether a text can be an idempotency key: 1 to 255 printable characters. */
export const isIdempotencyKey = (text: string): boolean => /^[\x20-\x7e]{1,255}$/.test(text);

/** The key is the caller's to run, as this command; or the answer was given before. */
export type ClaimedKey = { readonly commandId: string; readonly askedAt: number } | { readonly answer: KeptAnswer };

/** How often a claim that could not be given back, the database being away, is tried again. */
const RELEASE_EVERY_MS = 500;

/**
 * The owner of a claim that was given back: no process has this id, so the next one takes it over. The row stays, since the effect may
 * stand in the log although its answer was lost: another request with the key would otherwise be told that effect as its own.
 */
const NOBODY = 0;

/**
 * Remembers answers by idempotency key. It is a memory for answers only: that an effect happens once is promised by the log, where the
 * key rides with the events. So a process may die at any point: whoever comes with the key next finds its claim abandoned, runs the
 * request again, and the log answers with the effect that stands there.
 *
 * A database that is away can leave a claim behind, too: made or given back by a statement whose answer never came. So this process
 * knows which requests it really runs. A claim of its own without one is taken over at once; for others it is given back as soon as the
 * database answers again.
 */
export class IdempotentRequests {
  /** Requests that run here now, as `contextOf` names them. */
  private readonly running = new Set<string>();
  /** Claims of requests that ended without an answer, and how often they are still to be given back. */
  private readonly unreleased = new Map<string, { readonly request: KeyedRequest; times: number }>();
  private releasing = false;

  constructor(
    private readonly pool: Pool,
    private readonly presence: ProcessPresence,
    private readonly sealingKey: Buffer,
    private readonly keys: SubjectKeys,
  ) {}

  /**
   * The kept answer, or else what the caller is to run the request as; it then has to `keep` its answer or `abandon` it.
   * @throws {ApiError} IDEMPOTENCY_KEY_REUSED for another request, REQUEST_IN_PROGRESS while the first one runs.
   * @throws what the database throws while it is away; then nothing has to be given back.
   */
  async claim(request: KeyedRequest): Promise<ClaimedKey> {
    const name = contextOf(request);
    if (this.running.has(name)) return { answer: await this.known(request) };
    this.running.add(name);
    let claimed: ClaimedKey | undefined;
    try {
      claimed = await this.take(request);
    } catch (error) {
      this.abandon(request);
      throw error;
    }
    if (claimed) return claimed;
    this.running.delete(name);
    return { answer: await this.known(request) };
  }

  /**
   * Undefined when somebody has it: another process that lives, or an answer, or another request. The command id is kept from the first
   * try on, so that an effect whose answer was lost is found again; but never for longer than an effect answers for its key.
   */
  private async take({ scope, key, fingerprint }: KeyedRequest): Promise<ClaimedKey | undefined> {
    const { rows } = await this.pool.query<{ commandId: string | null; askedAt: string }>(
      `insert into ledger.idempotency_keys as known (tenant, mode, key, fingerprint, owner, command_id) values ($1, $2, $3, $4, $5, $6)
       on conflict (tenant, mode, key) do update set
         owner = excluded.owner,
         command_id = case when ${IS_OLD} then excluded.command_id else known.command_id end,
         created_at = case when ${IS_OLD} then excluded.created_at else known.created_at end
       where known.answer is null and known.fingerprint = excluded.fingerprint
         and (known.owner = excluded.owner or ${ProcessPresence.isGone('known.owner')})
       returning command_id as "commandId", extract(epoch from clock_timestamp()) * 1000 as "askedAt"`,
      [scope.tenant, scope.mode, key, fingerprint, this.presence.id, randomUUID()],
    );
    const [row] = rows;
    return row && { commandId: row.commandId ?? derivedCommandId(scope, key), askedAt: Number(row.askedAt) };
  }

  private async known(request: KeyedRequest): Promise<KeptAnswer> {
    const { scope, key, fingerprint } = request;
    const { rows } = await this.pool.query<{ fingerprint: string; answer: Buffer | null }>(
      'select fingerprint, answer from ledger.idempotency_keys where tenant = $1 and mode = $2 and key = $3',
      [scope.tenant, scope.mode, key],
    );
    const [known] = rows;
    // Abandoned between the two statements: the client's next try claims it.
    if (!known) throw new ApiError('REQUEST_IN_PROGRESS');
    if (known.fingerprint !== fingerprint) throw new ApiError('IDEMPOTENCY_KEY_REUSED');
    if (known.answer === null) throw new ApiError('REQUEST_IN_PROGRESS');
    const { named = [], ...answer } = JSON.parse(openBytes(this.sealingKey, known.answer, contextOf(request)).toString()) as SealedAnswer;
    return { ...answer, body: await this.opened(answer.body, named) };
  }

  /** @param logPosition how far the log was, as a number; left out: not known. */
  async keep(request: KeyedRequest, answer: KeptAnswer, named: readonly Named[] = [], logPosition?: bigint): Promise<void> {
    const { scope, key, fingerprint } = request;
    const kept: SealedAnswer = { ...answer, body: await this.sealed(answer.body, named), named };
    const sealed = sealBytes(this.sealingKey, Buffer.from(JSON.stringify(kept)), contextOf(request));
    // The claim may be gone, given back late on behalf of an earlier try; the answer is kept all the same, and for its whole time from now.
    await this.pool.query(
      `insert into ledger.idempotency_keys as known (tenant, mode, key, fingerprint, owner, answer, log_position) values ($1, $2, $3, $4, $5, $6, $7)
       on conflict (tenant, mode, key) do update set answer = excluded.answer, created_at = excluded.created_at, log_position = excluded.log_position
       where known.fingerprint = excluded.fingerprint`,
      [scope.tenant, scope.mode, key, fingerprint, this.presence.id, sealed, logPosition ?? null],
    );
    this.running.delete(contextOf(request));
  }

  /** Forgets an answer whose effect is in no log any more. The claim is nobody's then: whoever comes with the key next runs the request. */
  async forgetAnswer({ scope, key }: KeyedRequest): Promise<void> {
    await this.pool.query(
      'update ledger.idempotency_keys set answer = null, owner = $4 where tenant = $1 and mode = $2 and key = $3 and answer is not null',
      [scope.tenant, scope.mode, key, NOBODY],
    );
  }

  private async sealed(body: unknown, named: readonly Named[]): Promise<unknown> {
    if (named.length === 0 || !isObject(body)) return body;
    const keys = await this.keys.loadOrCreate(named.map(({ subject }) => subject));
    return changedMembers(body, named, (value, subject) => sealValues(personal(subject, value), keys));
  }

  private async opened(body: unknown, named: readonly Named[]): Promise<unknown> {
    if (named.length === 0 || !isObject(body)) return body;
    const keys = await this.keys.load(named.map(({ subject }) => subject));
    const empty = emptyOf(named);
    return changedMembers(
      body,
      named,
      (value, _subject, member) => (openValues(value, keys) as Personal<unknown>).value ?? empty[member] ?? null,
    );
  }

  /** An answer that is made again from the log: it names nobody whose key is destroyed, as a kept one would not. */
  async withoutForgotten(body: unknown, named: readonly Named[] = []): Promise<unknown> {
    if (named.length === 0 || !isObject(body)) return body;
    const keys = await this.keys.load(named.map(({ subject }) => subject));
    const gone = named.filter(({ subject }) => !keys.get(subject));
    const empty = emptyOf(gone);
    return changedMembers(body, gone, (_value, _subject, member) => empty[member] ?? null);
  }

  /**
   * The log knows another request by this key, and this one took effect nowhere: its claim goes, so that the other one is answered again.
   * Never fails.
   */
  async drop(request: KeyedRequest): Promise<void> {
    const { scope, key, fingerprint } = request;
    try {
      await this.pool.query(
        `delete from ledger.idempotency_keys
         where tenant = $1 and mode = $2 and key = $3 and fingerprint = $4 and owner = $5 and answer is null`,
        [scope.tenant, scope.mode, key, fingerprint, this.presence.id],
      );
      this.running.delete(contextOf(request));
    } catch {
      this.abandon(request);
    }
  }

  /** The request came to no answer that is worth keeping (an outage): the next try runs it again. Returns at once, and never fails. */
  abandon(request: KeyedRequest): void {
    const name = contextOf(request);
    this.running.delete(name);
    // Twice: a statement whose answer never came may be carried out after the first time.
    this.unreleased.set(name, { request, times: 2 });
    if (!this.releasing) void this.releaseAll();
  }

  /** Removes what is older than the promise of seven days. @returns how many. */
  async purge(olderThanDays = 8): Promise<number> {
    const { rowCount } = await this.pool.query(`delete from ledger.idempotency_keys where created_at < now() - make_interval(days => $1)`, [
      olderThanDays,
    ]);
    return rowCount ?? 0;
  }

  /** Until all are given back or nobody is there any more to give them to. Never rejects. */
  private async releaseAll(): Promise<void> {
    this.releasing = true;
    while (this.unreleased.size > 0 && !this.pool.ended) {
      for (const [name, entry] of [...this.unreleased]) {
        // Taken up again meanwhile: that request answers for the claim now.
        if (this.running.has(name)) entry.times = 0;
        else if (await this.isGivenBack(entry.request)) entry.times -= 1;
        else break;
        if (entry.times === 0 && this.unreleased.get(name) === entry) this.unreleased.delete(name);
      }
      // Unreferenced: a process that ends gives back everything that it held.
      if (this.unreleased.size > 0) await delay(RELEASE_EVERY_MS, undefined, { ref: false });
    }
    this.releasing = false;
  }

  /** False: not yet, the database is away. */
  private async isGivenBack({ scope, key }: KeyedRequest): Promise<boolean> {
    try {
      await this.pool.query(
        'update ledger.idempotency_keys set owner = $5 where tenant = $1 and mode = $2 and key = $3 and answer is null and owner = $4',
        [scope.tenant, scope.mode, key, this.presence.id, NOBODY],
      );
      return true;
    } catch {
      return false;
    }
  }
}

/** As long as an effect in the log answers for its key: after that, whoever comes with the key is another command. */
const IS_OLD = "known.created_at < now() - interval '7 days'";

/** How releases named the command that kept no id in its row. */
const derivedCommandId = ({ tenant, mode }: Scope, key: string): string => deterministicId(`${tenant}/${mode}/${key}`, 'request');

interface SealedAnswer extends KeptAnswer {
  readonly named?: readonly Named[];
}

const emptyOf = (named: readonly Named[]): Readonly<Record<string, unknown>> =>
  Object.fromEntries(named.flatMap((one) => Object.entries(one.empty ?? {})));

const isObject = (body: unknown): body is Readonly<Record<string, unknown>> => typeof body === 'object' && body !== null;

function changedMembers(
  body: Readonly<Record<string, unknown>>,
  named: readonly Named[],
  change: (value: unknown, subject: SubjectId, member: string) => unknown,
): Readonly<Record<string, unknown>> {
  const subjects = new Map(named.flatMap(({ subject, members }) => members.map((member) => [member, subject] as const)));
  return Object.fromEntries(
    Object.entries(body).map(([member, value]) => {
      const subject = subjects.get(member);
      return [member, subject === undefined ? value : change(value, subject, member)];
    }),
  );
}

const contextOf = ({ scope, key }: KeyedRequest): string => `${scope.tenant}/${scope.mode}/${key}`;
