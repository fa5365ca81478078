/** What the log tells of itself, for metrics; called in its busiest places, so it should do little. */
export interface EventLogObserver {
  /** An append was answered; `ms` from call to answer. */
  append?(ms: number, outcome: 'appended' | 'repeated' | 'conflict' | 'failed'): void;
  /** A transaction was committed with this many appends in it. */
  batch?(appends: number, ms: number): void;
  /** A batch is sent again; SQLSTATE or the operating system's code, where there is one. */
  retry?(code: string | undefined): void;
}
