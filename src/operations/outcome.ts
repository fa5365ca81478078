import { reasonsOf, type Refused } from '../domain/refusal.js';
import type { Argument, OperationRefusal, Reason } from './refusal-text.js';

export type { OperationRefusal, OperationRefusalCode } from './refusal-text.js';

/** The refusal of an operation. */
export class NotDone extends Error {
  override readonly name = 'NotDone';

  constructor(readonly because: OperationRefusal) {
    super(because.code);
  }
}

/** Refused with a line for each reason. */
export const notDone = (...reasons: readonly Reason[]): NotDone =>
  new NotDone({ code: 'REFUSED', reasons });

/** Refused for a member of the request, which the reason names. */
export const notDoneAbout = (member: Argument, reason: Reason): NotDone =>
  new NotDone({ code: 'REFUSED', reasons: [reason], about: [member] });

export type Outcome<T> = T | NotDone;

/**
 * A part of an operation's work. @throws {NotDone} its refusal, which ends the operation:
 * `outcomeOf` returns it.
 */
export function unlessRefused<T>(outcome: Outcome<T>): T {
  if (outcome instanceof NotDone) throw outcome;
  return outcome;
}

/** What a command decided. @throws {NotDone} its refusal, with a line for each reason. */
export function decided<T extends object>(outcome: T | Refused): T {
  if ('refused' in outcome) throw notDone(...reasonsOf(outcome));
  return outcome;
}

/** What the work returns; a refusal that it throws is returned as well. */
export async function outcomeOf<T>(
  work: () => Outcome<T> | Promise<Outcome<T>>,
): Promise<Outcome<T>> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof NotDone) return error;
    throw error;
  }
}

/** What a function answers when it refuses nothing. */
export type DocumentOf<F extends (...asked: never[]) => unknown> = Exclude<
  Awaited<ReturnType<F>>,
  NotDone
>;
