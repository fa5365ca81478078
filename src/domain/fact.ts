/** An event. `at` is the time of its effect, epoch milliseconds. */
export type Fact<T extends string, D = unknown> = {
  readonly type: T;
  readonly at: number;
} & Readonly<D>;

/** A command, decided at the time `now`. */
export type Command<T extends string, D = unknown> = {
  readonly type: T;
  readonly now: number;
} & Readonly<D>;

/**
 * Time from which an event counts in dated figures: the later of its recording and its effect,
 * which a test clock moves; an import takes effect at its own time, not at the date of the row.
 */
export const countedAt = ({
  recordedAt,
  event: { at, imported },
}: {
  readonly recordedAt: number;
  readonly event: {
    readonly at: number;
    readonly imported?: { readonly at: number } | undefined;
  };
}): number => Math.max(recordedAt, at, imported?.at ?? 0);
