import { Command, CommanderError } from 'commander';
import { ConfigError } from '../config/config.js';
import { group, GROUPS } from '../operations/registry/registry.js';
import { coloured } from './colours.js';
import { CommandError } from './command-error.js';
import { addCompletion } from './completion.js';
import { addOperation } from './operation-commands.js';
import { ownVersion } from '../foundation/own-version.js';
import { isStorable, NOT_STORABLE } from '../foundation/outside-text.js';

/** Operations that use parts of the command line, by their groups. */
const OWN_OPERATIONS: typeof GROUPS = [
  group('token', 'user tokens, for trying', () => import('./token.operations.js')),
  group('log', 'the event log as a whole', () => import('./log-copy.operations.js')),
];

/** The groups whose commands follow from the registry. */
export const OPERATIONS = [...GROUPS, ...OWN_OPERATIONS];

/**
 * The command line for operators. Returns the exit code: 0 fine, 1 error (one clear line on
 * standard error; nothing changed, unless the line names a possible effect), 2 a difference was
 * found, 3 the chain is broken.
 * @param words the arguments after the name of the program.
 */
export async function runCommandLine(words: readonly string[]): Promise<number> {
  const cli = await commandsFor(words[0]);
  applyToAll(cli, (command) =>
    command.exitOverride().showHelpAfterError(false).showSuggestionAfterError(true),
  );
  addWide(cli);
  addCompletion(cli);
  // A reader such as `head` may close the pipe: that is not an error of the command.
  process.stdout.on('error', () => undefined);
  try {
    refuseUnreadable(words);
    await cli.parseAsync(words, { from: 'user' });
    return 0;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 1;
    for (const line of linesOf(error))
      process.stderr.write(`${coloured(process.stderr, 'red', line)}\n`);
    return error instanceof CommandError ? error.exitCode : 1;
  }
}

/** The commands of the group with this name, or of all groups. */
export async function commandsFor(wanted?: string): Promise<Command> {
  const cli = new Command('referral-ledger')
    .description('Operates the referral ledger service')
    .version(ownVersion(), '--version', 'the version')
    .enablePositionalOptions()
    .exitOverride();
  // Before the commands are added, which take it over.
  cli.configureOutput({
    // The help after an error is cut to its first line, the usage.
    writeErr: (text) => void process.stderr.write(`${text.split('\n')[0] ?? ''}\n`),
    outputError: (text) => {
      const line = text
        .trim()
        .replace(/^error: /, '')
        .replace(/\s+\(Did you mean (.+)\?\)$/, ': did you mean $1?');
      process.stderr.write(`${coloured(process.stderr, 'red', line)}\n`);
    },
  });
  const isKnown = OPERATIONS.some(({ name }) => name === wanted);
  for (const { name, summary, load } of OPERATIONS)
    if (!isKnown || name === wanted) {
      const own =
        cli.commands.find((one) => one.name() === name) ?? cli.command(name).description(summary);
      for (const operation of await load())
        if (!operation.isRouteOnly) addOperation(own, operation);
    }
  return cli;
}

/** Node shows bytes of an argument that are not UTF-8 as U+FFFD. @throws {CommandError} */
function refuseUnreadable(words: readonly string[]): void {
  const at = words.findIndex((word) => word.includes('\uFFFD') || !isStorable(word));
  if (at >= 0)
    throw new CommandError(
      `argument ${at + 1} is not valid UTF-8 or ${NOT_STORABLE}; write it in UTF-8`,
    );
}

/** Every command that prints tables for people has `--wide`. */
function addWide(cli: Command): void {
  applyToAll(cli, (command) => {
    if (command.options.some(({ long }) => long === '--json'))
      command.option('--wide', 'on a terminal: tables with all of their text');
  });
  cli.hook('preAction', async (_, command) => {
    const { showWhole } = await import('./command-line.js');
    showWhole(command.opts()['wide'] === true);
  });
}

function applyToAll(command: Command, apply: (command: Command) => void): void {
  apply(command);
  for (const child of command.commands) applyToAll(child, apply);
}

/** No stack trace; of an unexpected error only the first line. */
function linesOf(error: unknown): readonly string[] {
  if (error instanceof ConfigError) return error.problems;
  const message = error instanceof Error ? error.message : '';
  return [message.split('\n')[0] || (error instanceof Error ? error.name : 'unknown error')];
}
