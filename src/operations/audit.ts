import { userInfo } from 'node:os';
import { deterministicId } from '../command-handling/deterministic-id.js';
import { OperationCommandEnvelope } from '../command-handling/commands.js';
import type { Core } from '../stores/core.js';
import { personal, type Personal } from '../domain/personal.js';
import type { Scope } from '../domain/scope.js';
import { metaOf, type Actor, type CommandMeta } from '../event-log/envelope.js';
import type { Position } from '../event-log/event-log.js';
import { digestOf } from '../foundation/canonical-json.js';
import { firstLine } from '../foundation/describe-error.js';
import { timeNow } from '../foundation/world.js';
import type { KeyedNames } from '../privacy/keyed-names.js';

/**
 * An audit event: every operation that changes or shows a tenant's ledger appends one to the
 * tenant's part of the log.
 */
export interface Operation {
  /** As it is called: `ledger statement`. */
  readonly operation: string;
  /** The name of a member of staff. */
  readonly by: string;
  /**
   * The arguments without undefined ones. Ids and names of clients appear only through
   * `hiddenAccount`, `hiddenUser` or a digest.
   */
  readonly parameters: Readonly<Record<string, string | number | boolean | undefined>>;
  /** The result, of which a digest is stored. A text is the digest itself. */
  readonly result: unknown;
}

export const OPERATOR: Actor = { kind: 'operator', id: 'command-line' };

/** Appends the audit event. @returns its position. */
export async function recordOperation(
  { commands, names }: Pick<Core, 'commands' | 'names'>,
  scope: Scope,
  { operation, by, parameters, result }: Operation,
): Promise<Position | null> {
  const given = Object.entries(parameters).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, String(value)] as const],
  );
  const record = {
    operation,
    by: memberOfStaff(names, scope, by),
    parameters: Object.fromEntries(given),
    now: timeNow(),
    resultDigest: typeof result === 'string' ? result : digestOf(result),
  };
  return commands.execute(new OperationCommandEnvelope(operatorMeta(scope, operation), record));
}

/**
 * Records work that cannot be undone: a failed audit event is reported and does not fail the work,
 * which would be repeated.
 */
export async function recordDone(
  core: Pick<Core, 'commands' | 'names'>,
  scope: Scope,
  operation: Operation,
  { completed, warn }: { readonly completed: string; readonly warn: (line: string) => void },
): Promise<void> {
  try {
    await recordOperation(core, scope, operation);
  } catch (error) {
    warn(`${completed}; the audit entry could not be written: ${firstLine(error)}`);
  }
}

/** The metadata of an operator's command. */
export const operatorMeta = (scope: Scope, causationId: string): CommandMeta =>
  metaOf(scope, OPERATOR, causationId);

/** The same for all spellings of an operator's name, in every channel. */
export const personNamed = (name: string): string => name.trim().toLowerCase();

/**
 * A staff name as stored in events: encrypted with a key of the person's own, so that it can be
 * erased like any person's. The id of the key is derived from the name, so it is the same in every
 * event.
 */
export const memberOfStaff = (names: KeyedNames, scope: Scope, name: string): Personal<string> =>
  staffSays(names, scope, name, name);

/** A text by a member of staff, encrypted with that person's key. */
export const staffSays = (
  names: KeyedNames,
  { tenant }: Scope,
  name: string,
  text: string,
): Personal<string> =>
  personal(deterministicId(names.digest('staff', tenant, name), 'staff'), text);

/** The current user of the operating system. */
export function operatingSystemUser(): string {
  try {
    return userInfo().username;
  } catch {
    // A container may run under a uid without a name.
    return `uid-${process.getuid?.() ?? 'unknown'}`;
  }
}
