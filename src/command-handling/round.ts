import { isLookup } from '../domain/need.js';
import type { DomainEvent } from '../domain/events.js';
import type { Decision } from '../domain/decision.js';
import type { CommandMeta, Envelope } from '../event-log/envelope.js';
import { appendBytes, type NewEvent, type Position } from '../event-log/event-log.js';
import { inThisContext } from '../foundation/tracing.js';
import type { Decide, Outcome } from './handle-command.js';
import type { Folded } from './stream-cache.js';

/** A command that waits for its answer. */
export class Asked<S, E> {
  isAnswered = false;
  /** What it failed with. */
  failure: unknown;
  /** The decision belongs to the trace of the request, whoever's turn it is. */
  readonly inContext = inThisContext();

  constructor(
    readonly meta: CommandMeta,
    private readonly decideWith: Decide<S, E>,
    readonly together: boolean,
    private readonly settle: {
      readonly resolve: (outcome: Outcome<S, E>) => void;
      readonly reject: (error: unknown) => void;
    },
  ) {}

  decide(state: S, mayLookUp: boolean): Decision<E> | Promise<Decision<E>> {
    return this.inContext(() => this.decideWith(state, mayLookUp));
  }

  answer(outcome: Outcome<S, E>): void {
    this.isAnswered = true;
    this.settle.resolve(outcome);
  }

  fail(error: unknown): void {
    this.isAnswered = true;
    this.failure = error;
    this.settle.reject(error);
  }
}

/** What a round of decisions begins with. */
export interface Begin<S> {
  readonly folded: Folded<S>;
  /** `StreamCache.evictions` before the load. */
  readonly evictions: number;
  /** Not a remembered state, which may have changed since. */
  readonly isNewest: boolean;
}

/** A decision, on the state behind the steps before it. */
export interface Step<S, E> {
  readonly asked: Asked<S, E>;
  readonly decision: Decision<E>;
  /** Empty: without effect. */
  readonly encoded: readonly NewEvent[];
  /** Behind it. */
  readonly state: S;
}

/**
 * Decisions one after the other, whose events one append records. Those behind the first event rest
 * on events that nobody has recorded yet: they are answered when the append proves them.
 */
export class Round<S, E extends DomainEvent> {
  readonly steps: Step<S, E>[] = [];
  readonly encoded: NewEvent[] = [];
  state: S;
  /** Of `encoded`. */
  bytes = 0;

  constructor(readonly begin: Begin<S>) {
    this.state = begin.folded.state;
  }

  add(step: Step<S, E>): void {
    this.steps.push(step);
    this.encoded.push(...step.encoded);
    this.bytes += appendBytes(step.encoded);
    this.state = step.state;
  }

  /** Whether the log, or a step of this round, has the same command, or one of the same key. */
  repeats(meta: CommandMeta): boolean {
    const { commandId, idempotency } = meta;
    return (
      this.begin.folded.handled.find(meta) !== undefined ||
      this.steps.some(
        ({ asked: { meta: before } }) =>
          before.commandId === commandId ||
          (idempotency !== null && before.idempotency?.key === idempotency.key),
      )
    );
  }

  /** Answers those before the first event, on the newest state. */
  answerUnchanged(): void {
    const { folded } = this.begin;
    for (const step of this.steps) {
      if (step.encoded.length > 0) return;
      step.asked.answer(outcomeOf(step, folded.position));
    }
  }
}

/** @param position of the newest event in the step's state. */
export function outcomeOf<S, E>(
  { decision, encoded, state }: Step<S, E>,
  position: Position | null,
): Outcome<S, E> {
  if ('refused' in decision) {
    const { refused, details = [] } = decision;
    return { kind: 'refused', refused, details, position };
  }
  if ('heldBy' in decision) return { kind: 'held', heldBy: decision.heldBy };
  if ('needs' in decision) return { kind: 'in-need', needs: decision.needs };
  const { events } = decision;
  const eventIds = encoded.map(({ id }) => id);
  return { kind: 'accepted', events, eventIds, state, position, replayed: false };
}

export const needsLookUps = <E>(decision: Decision<E>): boolean =>
  'needs' in decision && decision.needs.some(isLookup);

export const envelopeOf = ({ scope, ...meta }: CommandMeta): Envelope => ({
  ...meta,
  tenant: scope.tenant,
  mode: scope.mode,
});
