import { Command, CommanderError } from 'commander';
import { ConfigError } from '../config.js';
import { CommandError } from './command-line.js';
import { addChainCommands } from './ledger-chain-cli.js';
import { addLedgerChecks } from './ledger-checks-cli.js';
import { addLedgerCommands } from './ledger-cli.js';
import { ledgerGroup } from './ledger-command.js';
import { addLogCommands } from './log-cli.js';
import { addOperatorCommands } from './operator-cli.js';
import { addPolicyCommands } from './policy-cli.js';
import { addPrivacyCommands } from './privacy-cli.js';
import { addProjectionCommands } from './projection-cli.js';
import { addTenantCommands } from './tenant-cli.js';
import { addTokenCommands } from './token-cli.js';

/**
 * The command line for operators. Answers the exit code: 0 fine, 1 error (one clear line on standard error, nothing changed), 2 a
 * difference was found, 3 the chain is broken.
 * @param words what stands behind the name of the program.
 */
export async function runCommandLine(words: readonly string[]): Promise<number> {
  const cli = new Command('cli').description('Operates the referral ledger service').exitOverride();
  cli.configureOutput({
    // Help that nobody asked for is cut to its first line: how the command is used.
    writeErr: (text) => void process.stderr.write(`${text.split('\n')[0] ?? ''}\n`),
    outputError: (text, write) => write(text.replace(/^error: /, '')),
  });
  addTenantCommands(cli);
  addTokenCommands(cli);
  addLedgerCommands(cli);
  addLedgerChecks(cli);
  addChainCommands(ledgerGroup(cli));
  addProjectionCommands(cli);
  addPolicyCommands(cli);
  addLogCommands(cli);
  addOperatorCommands(cli);
  addPrivacyCommands(cli);
  applyToAll(cli, (command) => command.exitOverride().showHelpAfterError(false).showSuggestionAfterError(false));
  // Whoever reads may have had enough (`… | head`): that is no fault of the command's.
  process.stdout.on('error', () => undefined);
  try {
    await cli.parseAsync(words, { from: 'user' });
    return 0;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 1;
    for (const line of linesOf(error)) process.stderr.write(`${line}\n`);
    return error instanceof CommandError ? error.exitCode : 1;
  }
}

function applyToAll(command: Command, apply: (command: Command) => void): void {
  apply(command);
  for (const child of command.commands) applyToAll(child, apply);
}

/** No stack trace, and of an unforeseen error no more than its first line. */
function linesOf(error: unknown): readonly string[] {
  if (error instanceof ConfigError) return error.problems;
  const message = error instanceof Error ? error.message : '';
  return [message.split('\n')[0] || (error instanceof Error ? error.name : 'unknown error')];
}
