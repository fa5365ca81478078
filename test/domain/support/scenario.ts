import type { Decision } from '../../../src/domain/decision.js';
import type { Need } from '../../../src/domain/need.js';
import type { Refusal } from '../../../src/domain/refusal.js';

type History<E> = readonly (E | readonly E[])[];

/** `given(events).when(command).then(events)`, `.refused(code)` or `.heldBy(process)`. */
export const scenarioOf =
  <S, C, E extends { readonly type: string }>(decider: {
    readonly decide: (state: S, command: C) => Decision<E>;
    readonly evolve: (state: S, event: E) => S;
    readonly initialState: S;
  }) =>
  (...history: History<E>) => {
    const state = (history.flat() as E[]).reduce(decider.evolve, decider.initialState);
    return { state, when: (command: C) => outcome(decider.decide(state, command)) };
  };

export function outcome<E extends { readonly type: string }>(decision: Decision<E>) {
  return {
    decision,
    then: (...events: readonly E[]) => expect(decision).toStrictEqual({ events }),
    refused: (code: Refusal, ...details: readonly string[]) =>
      expect(decision).toStrictEqual(
        details.length > 0 ? { refused: code, details } : { refused: code },
      ),
    heldBy: (process: string) => expect(decision).toStrictEqual({ heldBy: process }),
    needs: (...needs: readonly Need[]) => expect(decision).toStrictEqual({ needs }),
    events: (): readonly E[] => ('events' in decision ? decision.events : []),
    /** The types alone, where a test is about which facts there are. */
    types: () => ('events' in decision ? decision.events.map(({ type }) => type) : decision),
  };
}
