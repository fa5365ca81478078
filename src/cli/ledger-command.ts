import type { Command } from 'commander';
import type { Core } from '../stores/core.js';
import type { Scope } from '../domain/scope.js';
import { operatingSystemUser } from '../operations/audit.js';
import { auditedOn, type Done } from '../operations/audited.js';
import { laterText } from '../operations/ledger/later-entries.js';
import type { Outcome } from '../operations/outcome.js';
import { filled } from './arguments.js';
import { CommandError } from './command-error.js';
import { note, withCore, type OutputOptions } from './command-line.js';
import { asRun, type CommandRun, type NoteProgress } from './command-run.js';
import { done } from './outcomes.js';

/** The options that every command of the ledger has. */
export interface LedgerOptions extends OutputOptions {
  readonly mode: string;
  readonly by?: string;
}

/** The group of commands, created on first use. */
export const ledgerGroup = (cli: Command): Command =>
  cli.commands.find((command) => command.name() === 'ledger') ??
  cli.command('ledger').description('the ledger of a tenant, for finance');

export const withLedgerOptions = (command: Command): Command =>
  command
    .option('--mode <mode>', 'live or test', 'live')
    .option('--by <name>', 'who runs it; default: the user of the operating system')
    .option('--json', 'one JSON document');

/**
 * Runs the work on the stores and records its audit event in the log. @throws {CommandError} for
 * refused work.
 */
export function audited<T>(
  scope: Scope,
  by: string | undefined,
  operation: string,
  work: (core: Core) => Promise<Outcome<Done<T>>>,
): Promise<T> {
  const who = filled('--by', by ?? operatingSystemUser());
  return withCore(async (core) => {
    if ((await core.tenants.read(scope.tenant)) === undefined)
      throw new CommandError(`there is no tenant ${scope.tenant}`);
    return done(await auditedOn(core, { scope, by: who, operation, warn: note }, work));
  });
}

export interface AuditedRun extends Pick<CommandRun, 'operation' | 'parameters' | 'stop'> {
  readonly scope: Scope;
  readonly by: string | undefined;
}

/** As `audited`, for work that may take long: a run of the operator meanwhile. */
export function auditedRun<T>(
  { scope, by, operation, parameters, stop }: AuditedRun,
  work: (core: Core, note: NoteProgress) => Promise<Outcome<Done<T>>>,
): Promise<T> {
  const who = filled('--by', by ?? operatingSystemUser());
  const run = { operation, by: who, scope, parameters, stop };
  return audited(scope, who, operation, (core) =>
    asRun(
      core,
      run,
      (note) => work(core, note),
      ({ result }) => result,
    ),
  );
}

/** On standard error; nothing for none. */
export function noteEntriesAfter(entries: number, figures: 'statement' | 'month'): void {
  const line = laterText(entries, figures);
  if (line !== undefined) note(line);
}
