import { reasonsOf, type Refusal, type Refused } from '../domain/refusal.js';
import { modeOf, type Scope } from '../domain/scope.js';
import type { RunEnd } from '../runs/recorded-runs.js';

/** A member of a request: `asOf` over HTTP, `--as-of` on the command line. */
export type Argument = string;

/** How members of a request are written: as options, or as members of JSON. */
export type WordFor = (argument: Argument) => string;

/** A line of a refusal; a function names members as its channel does. */
export type Reason = string | ((wordFor: WordFor) => string);

/**
 * A refusal that callers act on: it has an answer of its own in src/http/operations/refusals.ts, or
 * an exit code. `REFUSED`: any other one.
 */
export type OperationRefusalCode =
  | Refusal
  | 'APPROVER_REFUSED'
  | 'CANCELLED'
  | 'DELIVERY_NOT_FOUND'
  | 'ENDPOINT_NOT_FOUND'
  | 'IMPORT_NOT_FOUND'
  | 'MAIL_NOT_FOUND'
  | 'PROJECTION_UNKNOWN'
  | 'PROPOSAL_IS_OWN'
  | 'PROPOSAL_NOT_FOUND'
  | 'PROPOSAL_OF_OTHERS'
  | 'REACTION_NOT_PARKED'
  | 'REFUSED'
  | 'REQUEST_IN_PROGRESS'
  | 'SEAL_NOT_SIGNED_HERE'
  | 'STATEMENT_TOO_LONG';

/** Why an operation was refused; nothing changed. Thrown by its work. */
export class NotDone extends Error {
  override readonly name = 'NotDone';

  /**
   * @param reasons one line each.
   * @param about the members of the request that it is about, named as over HTTP; none where it is
   * about the whole request or what was there before it.
   */
  constructor(
    readonly code: OperationRefusalCode,
    readonly reasons: readonly Reason[],
    readonly about: readonly Argument[] = [],
  ) {
    super(code);
  }

  /** One line for an operator, with members as the channel names them; default: as over HTTP. */
  text(wordFor: WordFor = (argument) => argument): string {
    return linesOf(this.reasons, wordFor).join('; ');
  }
}

/** The lines of reasons. */
export const linesOf = (reasons: readonly Reason[], wordFor: WordFor): readonly string[] =>
  reasons.map((reason) => (typeof reason === 'string' ? reason : reason(wordFor)));

/** Refused with a line for each reason. */
export const notDone = (...reasons: readonly Reason[]): NotDone => new NotDone('REFUSED', reasons);

/** Refused for members of the request, which the reason names. */
export const notDoneAbout = (about: Argument | readonly Argument[], reason: Reason): NotDone =>
  new NotDone('REFUSED', [reason], [about].flat());

export const tenantNotFound = (tenant: string): NotDone =>
  new NotDone('TENANT_NOT_FOUND', [`there is no tenant ${tenant}`], ['tenant']);

export const accountNotFound = (accountId: string, { tenant, mode }: Scope): NotDone =>
  new NotDone(
    'ACCOUNT_NOT_FOUND',
    [`there is no account ${accountId} in ${tenant} (${modeOf(mode)})`],
    ['account'],
  );

export const readModelsBeingRebuilt = (): NotDone =>
  notDone('the read models are being rebuilt: try again when the service is ready');

/** What a client wrote, in a line. */
export const quoted = (text: string): string => JSON.stringify(text.slice(0, 80));

export type Outcome<T> = T | NotDone;

/** The end of a run with this outcome. */
export const endOf = (outcome: Outcome<unknown>): RunEnd =>
  outcome instanceof NotDone
    ? { error: outcome.text(), isCancelled: outcome.code === 'CANCELLED' }
    : { result: outcome };

/** What a command decided. @throws {NotDone} its refusal, with a line for each reason. */
export function decided<T extends object>(outcome: T | Refused): T {
  if ('refused' in outcome) throw notDone(...reasonsOf(outcome));
  return outcome;
}

/** What the work returns; a refusal that it throws is a value. */
export async function outcomeOf<T>(work: () => T | Promise<T>): Promise<Outcome<T>> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof NotDone) return error;
    throw error;
  }
}
