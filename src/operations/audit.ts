import { userInfo } from 'node:os';
import { deterministicId } from '../command-handling/deterministic-id.js';
import { OperationCommandEnvelope } from '../command-handling/commands.js';
import type { Core } from '../stores/core.js';
import { personal, type Personal } from '../domain/personal.js';
import { MODES, scopeOfMode, type Scope } from '../domain/scope.js';
import { metaOf, type Actor, type CommandMeta } from '../event-log/envelope.js';
import type { Position } from '../event-log/event-log.js';
import { digestOf } from '../foundation/canonical-json.js';
import { firstLine } from '../foundation/describe-error.js';
import { timeNow } from '../foundation/world.js';
import type { KeyedNames } from '../privacy/keyed-names.js';

/** A member of staff, and the channel of the call. Names are compared without case. */
export interface Staff {
  readonly name: string;
  readonly channel: 'console' | 'http' | 'cli';
}

/** A staff name as stored in events. */
export interface StaffName extends Personal<string> {
  readonly value: string;
}

/** The metadata of a command by a member of staff. */
export interface StaffMeta extends CommandMeta {
  readonly actor: Actor & { readonly name: StaffName };
}

/**
 * An audit event: every operation that changes or shows a tenant's ledger appends one to the
 * tenant's part of the log.
 */
export interface Operation {
  /** As it is called: `ledger statement`. */
  readonly operation: string;
  readonly by: Staff;
  /**
   * The arguments without undefined ones. Ids and names of clients appear only through
   * `hiddenAccount`, `hiddenUser` or a digest.
   */
  readonly parameters: Readonly<Record<string, string | number | boolean | undefined>>;
  /** The result, of which a digest is stored. A text is the digest itself. */
  readonly result: unknown;
  /** In the operator's words. */
  readonly reason?: Personal<string> | undefined;
}

/** Appends the audit event, which stays when test data are removed. @returns its position. */
export async function recordOperation(
  core: Pick<Core, 'commands' | 'names'>,
  scope: Scope,
  { operation, by, parameters, result, reason }: Operation,
): Promise<Position | null> {
  const given = Object.entries(parameters).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, String(value)] as const],
  );
  const meta = operatorMeta(core, scopeOfMode(scope), by, operation);
  const record = {
    operation,
    by: meta.actor.name,
    parameters: Object.fromEntries(given),
    now: timeNow(),
    resultDigest: typeof result === 'string' ? result : digestOf(result),
    ...(reason && { reason }),
  };
  return core.commands.execute(new OperationCommandEnvelope(meta, record));
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

/** As `recordDone`, in the log of every tenant and in both modes: for work on the whole service. */
export async function recordEverywhere(
  core: Pick<Core, 'commands' | 'names' | 'tenantCommands'>,
  operation: Operation,
  how: Parameters<typeof recordDone>[3],
): Promise<void> {
  for (const { alias: tenant } of await core.tenantCommands.list())
    for (const mode of MODES) await recordDone(core, { tenant, mode }, operation, how);
}

/** The metadata of an operator's command. @param causationId the name of the operation. */
export const operatorMeta = (
  core: Pick<Core, 'names'>,
  scope: Scope,
  by: Staff,
  causationId: string,
): StaffMeta => {
  const actor = actorOf(core, scope, by);
  return { ...metaOf(scope, actor, causationId), actor };
};

export function actorOf(
  { names }: Pick<Core, 'names'>,
  scope: Scope,
  { name: text, channel }: Staff,
): StaffMeta['actor'] {
  const name = memberOfStaff(names, scope, text);
  const id = name.subject;
  return channel === 'cli' ? { kind: 'cli', id, name } : { kind: 'operator', id, channel, name };
}

/** As an actor is shown, for records that are no events. */
export const shownStaff = ({ name, channel }: Staff): string =>
  `${channel === 'cli' ? channel : 'operator'}:${name}`;

/** The same for all spellings of an operator's name, in every channel. */
export const personNamed = (name: string): string => name.trim().toLowerCase();

/**
 * A staff name as stored in events: encrypted with a key of the person's own, so that it can be
 * erased like any person's. The id of the key is derived from the name, so it is the same in every
 * event and channel.
 */
export const memberOfStaff = (names: KeyedNames, { tenant }: Scope, name: string): StaffName => ({
  subject: deterministicId(names.digest('staff', tenant, personNamed(name)), 'staff'),
  value: name,
});

/** A text by a member of staff, encrypted with that person's key. */
export const staffSays = ({ actor }: StaffMeta, text: string): Personal<string> =>
  personal(actor.id, text);

/** The current user of the operating system. */
export function operatingSystemUser(): string {
  try {
    return userInfo().username;
  } catch {
    // A container may run under a uid without a name.
    return `uid-${process.getuid?.() ?? 'unknown'}`;
  }
}
