import { completeErasure, repeatErasure } from '../../domain/account/erasure/erasure.js';
import type { ErasedSubjects } from '../../domain/account/account.events.js';
import { release } from '../../domain/customer/customer.decider.js';
import type { SubjectId } from '../../domain/personal.js';
import type { AccountRef, LedgerMode, Scope } from '../../domain/scope.js';
import type { CommandMeta } from '../../event-log/envelope.js';
import type { Position } from '../../event-log/event-log.js';
import { timeNow } from '../../foundation/world.js';
import type { KeyedNames } from '../../privacy/keyed-names.js';
import type { SubjectKeys } from '../../privacy/subject-keys.js';
import { asNewCommand } from '../as-new-command.js';
import { deterministicId } from '../deterministic-id.js';
import type { Streams } from '../streams.js';

export type ErasureCause = Omit<CommandMeta, 'scope' | 'commandId'>;

/** Notifies every process, this one included, to evict these people's values. */
export type AnnounceErasure = (subjects: readonly SubjectId[]) => Promise<void>;

/** Removes prepared files with these people, and their data in operators' runs. */
export type ForgetInFiles = (scope: Scope, persons: readonly SubjectId[]) => Promise<void>;

/**
 * Completes a recorded erasure: destroys the keys, notifies every process, removes export files
 * with these people, and records the completion last. The request starts it; after a crash a job
 * resumes it. Every step is idempotent.
 */
export class ErasureProcess {
  constructor(
    private readonly streams: Streams,
    private readonly names: KeyedNames,
    private readonly keys: Pick<SubjectKeys, 'destroy'>,
    private readonly announce: AnnounceErasure,
    private readonly forgetInFiles: ForgetInFiles,
  ) {}

  /** Repeats an erasure that another copy of the log holds; the keys are destroyed in any case. */
  async repeat(
    { tenant, mode, accountRef, suppressed, ...erased }: ListedErasure,
    customerStream: string | undefined,
    cause: ErasureCause,
  ): Promise<void> {
    const scope = { tenant, mode };
    const { erasureId } = erased;
    await this.keys.destroy(subjectsOf(erased));
    const meta: CommandMeta = {
      ...cause,
      scope,
      commandId: deterministicId(erasureId, 'repeat'),
      idempotency: null,
    };
    const stream = this.names.accountStream(scope, accountRef);
    const { state: before } = await this.streams.accounts.load(stream);
    // A later account gets no facts of this one; a newer account under the id keeps its own.
    if (before.status === 'open' && before.account === erased.account && customerStream) {
      const { account } = before;
      await this.streams.customers.handle(customerStream, asNewCommand(meta), (customer) =>
        release(customer, { account, now: timeNow() }),
      );
    }
    await this.streams.accounts.handle(stream, meta, (state) =>
      repeatErasure(state, { type: 'RepeatErasure', erased, suppressed, now: timeNow() }),
    );
    await this.drive(scope, accountRef, erasureId, cause);
  }

  /** @returns the position of the completion; null: recorded before, or never requested. */
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
    await this.forgetInFiles(scope, erased.persons);
    const meta: CommandMeta = {
      ...cause,
      scope,
      commandId: deterministicId(erasureId, 'complete'),
      idempotency: null,
    };
    const outcome = await this.streams.accounts.handle(stream, meta, (now) =>
      completeErasure(now, { type: 'CompleteErasure', erasureId, now: timeNow() }),
    );
    return outcome.kind === 'accepted' ? outcome.position : null;
  }
}

/** A recorded erasure, to be repeated on another copy of the log. No personal data. */
export interface ListedErasure extends ErasedSubjects {
  readonly tenant: string;
  readonly mode: LedgerMode;
  readonly accountRef: AccountRef;
  readonly suppressed: readonly string[];
}

export const subjectsOf = ({
  persons,
  account,
  customer,
}: ErasedSubjects): readonly SubjectId[] => [
  ...persons,
  ...(account === null ? [] : [account]),
  ...(customer === undefined ? [] : [customer]),
];
