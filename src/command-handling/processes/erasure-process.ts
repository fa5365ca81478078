import { decide } from '../../domain/account/account.decider.js';
import type { Erased } from '../../domain/account/account.events.js';
import type { SubjectId } from '../../domain/personal.js';
import type { AccountRef, Mode, Scope } from '../../domain/scope.js';
import type { CommandMeta } from '../../event-log/envelope.js';
import type { Position } from '../../event-log/event-log.js';
import type { KeyedNames } from '../../privacy/keyed-names.js';
import type { SubjectKeys } from '../../privacy/subject-keys.js';
import { deterministicId } from '../deterministic-id.js';
import type { Streams } from '../streams.js';

export type ErasureCause = Omit<CommandMeta, 'scope' | 'commandId'>;

/** Tells every process, this one included, whose values it must not remember any longer. */
export type AnnounceErasure = (subjects: readonly SubjectId[]) => Promise<void>;

/**
 * Carries a recorded erasure to its end: the keys are destroyed, every process is told, and the
 * account says that it is done. Whoever calls it goes on where the last one stopped: the request
 * itself, or the job that looks after what a crash left. Every step is harmless twice, and the
 * tombstone is written last: what it says is true.
 */
export class ErasureProcess {
  constructor(
    private readonly streams: Streams,
    private readonly names: KeyedNames,
    private readonly keys: Pick<SubjectKeys, 'destroy'>,
    private readonly announce: AnnounceErasure,
  ) {}

  /** Carries out what another copy of the log has; keys are destroyed in any case. */
  async repeat(
    { tenant, mode, accountRef, suppressed, ...erased }: ListedErasure,
    cause: ErasureCause,
  ): Promise<void> {
    const scope = { tenant, mode };
    const { erasureId, persons, account } = erased;
    await this.keys.destroy(subjectsOf({ erasureId, persons, account }));
    const meta: CommandMeta = {
      ...cause,
      scope,
      commandId: deterministicId(erasureId, 'repeat'),
      idempotency: null,
    };
    await this.streams.accounts.handle(this.names.accountStream(scope, accountRef), meta, (state) =>
      decide(state, {
        type: 'RepeatErasure',
        erased: { erasureId, persons, account },
        suppressed,
        now: Date.now(),
      }),
    );
    await this.drive(scope, accountRef, erasureId, cause);
  }

  /**
   * @returns where the tombstone stands; null when it was written before, or there is no such
   * erasure.
   */
  async drive(
    scope: Scope,
    account: AccountRef,
    erasureId: string,
    cause: ErasureCause,
  ): Promise<Position | null> {
    const stream = this.names.accountStream(scope, account);
    const { state } = await this.streams.accounts.load(stream);
    const erased = state.remains.erasures.get(erasureId);
    if (!erased) return null;
    const subjects = subjectsOf(erased);
    await this.keys.destroy(subjects);
    await this.announce(subjects);
    const meta: CommandMeta = {
      ...cause,
      scope,
      commandId: deterministicId(erasureId, 'complete'),
      idempotency: null,
    };
    const outcome = await this.streams.accounts.handle(stream, meta, (now) =>
      decide(now, { type: 'CompleteErasure', erasureId, now: Date.now() }),
    );
    return outcome.kind === 'accepted' ? outcome.position : null;
  }
}

/** An erasure as it stood in a log, to be carried out on another copy of it. No personal data. */
export interface ListedErasure extends Erased {
  readonly tenant: string;
  readonly mode: Mode;
  readonly accountRef: AccountRef;
  readonly suppressed: readonly string[];
}

const subjectsOf = ({ persons, account }: Erased): readonly SubjectId[] =>
  account === null ? persons : [...persons, account];
