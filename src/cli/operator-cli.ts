import type { Command } from 'commander';
import { makeOperatorKey, OPERATOR_ROLES, type OperatorRole } from '../config/operators.js';
import { CommandError } from './command-error.js';
import { note, printJson } from './command-line.js';

/** `operator …`. */
export function addOperatorCommands(cli: Command): void {
  cli
    .command('operator')
    .description('keys for the operations interface')
    .command('key <name>')
    .description('creates a key and its entry for OPERATORS_FILE; changes nothing')
    .requiredOption('--role <role...>', `a role of the operator: ${OPERATOR_ROLES.join(', ')}`)
    .option('--json', 'one JSON document (the answer always is)')
    .action((name: string, { role }: { role: readonly string[] }) => {
      if (!/^[A-Za-z0-9][A-Za-z0-9._@-]{0,63}$/.test(name))
        throw new CommandError('a name is 1 to 64 letters, digits and . _ @ -');
      printJson(makeOperatorKey(name, role.map(roleIn)));
      note(
        'This key is shown this once. It counts as soon as its entry is in the list in OPERATORS_FILE.',
      );
    });
}

function roleIn(text: string): OperatorRole {
  const role = OPERATOR_ROLES.find((one) => one === text);
  if (role === undefined) throw new CommandError(`--role must be of ${OPERATOR_ROLES.join(', ')}`);
  return role;
}
