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
