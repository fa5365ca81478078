/**
 * What the log tells of itself, for metrics; called in its busiest places, so it should do little.
 */
export interface EventLogObserver {
  /** An append was answered; `ms` from call to answer. */
  append?(ms: number, outcome: AppendOutcome): void;
  /** A transaction was committed with this many appends in it. */
  batch?(appends: number, ms: number): void;
  /** A batch is sent again; SQLSTATE or the operating system's code, where there is one. */
  retry?(code: string | undefined): void;
  /** An append ended without an answer: whether it was stored only its repetition tells. */
  unknownOutcome?(): void;
  /** The subscription that tells of news broke, fell silent or was dropped, and was made anew. */
  subscriptionRestart?(): void;
}

export type AppendOutcome = 'appended' | 'conflict' | 'failed';
