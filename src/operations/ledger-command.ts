import type { Command } from 'commander';
import type { Core } from '../core.js';
import type { Scope } from '../domain/scope.js';
import { checkAlias, parseMode } from './arguments.js';
import { operatingSystemUser, recordDone, recordOperation, type Operation } from './audit.js';
import { CommandError, note, withCore, type OutputOptions } from './command-line.js';
import { checkTenant } from './ledger-entries.js';

/** What every command of the ledger takes. */
export interface LedgerOptions extends OutputOptions {
  readonly mode: string;
  readonly by?: string;
}

/** The group of commands, made by whoever comes first. */
export const ledgerGroup = (cli: Command): Command =>
  cli.commands.find((command) => command.name() === 'ledger') ?? cli.command('ledger').description('the ledger of a tenant, for finance');

export const withLedgerOptions = (command: Command): Command =>
  command
    .option('--mode <mode>', 'live or test', 'live')
    .option('--by <name>', 'who asks for it; else who is logged in')
    .option('--json', 'one JSON document');

/** @throws {CommandError} */
export function scopeOf(alias: string, mode: string): Scope {
  checkAlias(alias);
  return { tenant: alias, mode: parseMode(mode) };
}

/** What an operation came to, and what of it goes on record. */
export interface Done<T> extends Pick<Operation, 'parameters'> {
  readonly result: T;
  /** Where there is one already. */
  readonly digest?: string;
  /** For work that cannot be taken back, or must be told whatever happens: what stands without its audit event, in a few words. */
  readonly stands?: string;
}

/** Whose operation it is, on what, and as what it goes on record. */
export interface AuditFrame extends Pick<Operation, 'operation' | 'by'> {
  readonly scope: Scope;
  /** Is told, in one line, of work that stands and could not be put on record. */
  readonly warn: (line: string) => void;
}

/** Runs the work on the stores and leaves its audit event in the log. */
export function audited<T>(scope: Scope, by: string | undefined, operation: string, work: (core: Core) => Promise<Done<T>>): Promise<T> {
  const who = filled('--by', by ?? operatingSystemUser());
  return withCore(async (core) => {
    await checkTenant(core, scope.tenant);
    return auditedOn(core, { scope, by: who, operation, warn: note }, work);
  });
}

/** The same on stores that are open. The tenant is known to be there. */
export async function auditedOn<T>(
  core: Core,
  { scope, by, operation, warn }: AuditFrame,
  work: (core: Core) => Promise<Done<T>>,
): Promise<T> {
  const { result, parameters, digest, stands } = await work(core);
  const done = { operation, by, parameters, result: digest ?? result };
  if (stands === undefined) await recordOperation(core, scope, done);
  else await recordDone(core, scope, done, { stands, warn });
  return result;
}

const TEXT_MAX = 1_000;

/** @throws {CommandError} for a text that is empty or too long. */
export function filled(option: string, text: string): string {
  if (text.trim() === '' || text.length > TEXT_MAX) throw new CommandError(`${option} must be 1 to ${TEXT_MAX} characters`);
  return text;
}
