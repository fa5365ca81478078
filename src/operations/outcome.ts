import type { OperationRefusal } from './refusal-text.js';

export type { OperationRefusal, OperationRefusalCode } from './refusal-text.js';

/** The refusal of an operation. */
export class NotDone {
  constructor(readonly because: OperationRefusal) {}
}

/** With one line for each reason. */
export const settingsRefused = (...reasons: readonly string[]): NotDone =>
  new NotDone({ code: 'SETTINGS_REFUSED', reasons });

export type Outcome<T> = T | NotDone;

/** What a function answers when it refuses nothing. */
export type DocumentOf<F extends (...asked: never[]) => unknown> = Exclude<
  Awaited<ReturnType<F>>,
  NotDone
>;
