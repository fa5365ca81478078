import type { Argument, OperationRefusal, Reason } from './refusal-text.js';

export type { OperationRefusal, OperationRefusalCode } from './refusal-text.js';

/** The refusal of an operation. */
export class NotDone {
  constructor(readonly because: OperationRefusal) {}
}

/** Refused with a line for each reason. */
export const notDone = (...reasons: readonly Reason[]): NotDone =>
  new NotDone({ code: 'REFUSED', reasons });

/** Refused for a member of the request, which the reason names. */
export const notDoneAbout = (member: Argument, reason: Reason): NotDone =>
  new NotDone({ code: 'REFUSED', reasons: [reason], about: [member] });

export type Outcome<T> = T | NotDone;

/** What a function answers when it refuses nothing. */
export type DocumentOf<F extends (...asked: never[]) => unknown> = Exclude<
  Awaited<ReturnType<F>>,
  NotDone
>;
