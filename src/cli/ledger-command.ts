import type { Command } from 'commander';
import type { Core } from '../core/core.js';
import type { Scope } from '../domain/scope.js';
import { operatingSystemUser } from '../operations/audit.js';
import { auditedOn, filled, type Done } from '../operations/audited.js';
import { checkTenant } from '../operations/ledger/ledger-entries.js';
import { note, withCore, type OutputOptions } from './command-line.js';

/** What every command of the ledger takes. */
export interface LedgerOptions extends OutputOptions {
  readonly mode: string;
  readonly by?: string;
}

/** The group of commands, made by whoever comes first. */
export const ledgerGroup = (cli: Command): Command =>
  cli.commands.find((command) => command.name() === 'ledger') ??
  cli.command('ledger').description('the ledger of a tenant, for finance');

export const withLedgerOptions = (command: Command): Command =>
  command
    .option('--mode <mode>', 'live or test', 'live')
    .option('--by <name>', 'who asks for it; else who is logged in')
    .option('--json', 'one JSON document');

/** Runs the work on the stores and leaves its audit event in the log. */
export function audited<T>(
  scope: Scope,
  by: string | undefined,
  operation: string,
  work: (core: Core) => Promise<Done<T>>,
): Promise<T> {
  const who = filled('--by', by ?? operatingSystemUser());
  return withCore(async (core) => {
    await checkTenant(core, scope.tenant);
    return auditedOn(core, { scope, by: who, operation, warn: note }, work);
  });
}
