import type { Argument, Command, Option } from 'commander';

/** The list of commands in the documentation. @param cli all commands. */
export const commandReference = (cli: Command): string =>
  `# Commands

Each command has \`--help\` with examples. Made from the commands: see CONTRIBUTING.

${cli.commands
  .filter(({ commands }) => commands.length > 0)
  .map((group) => `## ${group.name()}\n\n${sentence(group.description())}\n\n${commandsOf(group)}`)
  .join('\n')}`;

const commandsOf = (group: Command): string =>
  group.commands
    .map(
      (command) =>
        `### ${group.name()} ${command.name()}\n\n${sentence(command.description())}\n\n${linesOf(command).join('\n')}\n`,
    )
    .join('\n');

const linesOf = (command: Command): readonly string[] => [
  ...command.registeredArguments.map(argumentLine),
  ...command.options.map(optionLine),
];

const argumentLine = (argument: Argument): string =>
  item(argument.required ? `<${argument.name()}>` : `[${argument.name()}]`, argument.description);

const optionLine = ({ flags, description, mandatory }: Option): string =>
  item(flags, mandatory ? `${description} (required)` : description);

const item = (word: string, text: string): string =>
  text === '' ? `- \`${word}\`` : `- \`${word}\`: ${text}`;

const sentence = (text: string): string => `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;
