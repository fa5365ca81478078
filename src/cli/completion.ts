import type { Command } from 'commander';
import { CommandError } from './command-error.js';

const SHELLS = ['bash', 'zsh'] as const;

/** `completion bash` and `completion zsh`. */
export const addCompletion = (cli: Command): void =>
  void cli
    .command('completion')
    .argument('<shell>', SHELLS.join(' or '))
    .description('prints the completion of a shell')
    .addHelpText('after', '\nExample:\n  source <(referral-ledger completion bash)')
    .action((name: string) => {
      const shell = SHELLS.find((known) => known === name);
      if (shell === undefined) throw new CommandError(`<shell> must be ${SHELLS.join(' or ')}`);
      process.stdout.write(shell === 'bash' ? bash(cli) : zsh(cli));
    });

/** What follows each command: its own commands, or its options. */
function wordsOf(cli: Command): ReadonlyMap<string, string> {
  const groups = cli.commands.filter(({ commands }) => commands.length > 0);
  const words = new Map([['', groups.map((group) => group.name()).join(' ')]]);
  for (const group of groups) {
    words.set(group.name(), namesOf(group));
    for (const command of group.commands)
      words.set(
        `${group.name()} ${command.name()}`,
        command.options.map(({ long }) => long ?? '').join(' '),
      );
  }
  return words;
}

const namesOf = (command: Command): string => command.commands.map((each) => each.name()).join(' ');

const cases = (cli: Command): string =>
  [...wordsOf(cli)].map(([path, words]) => `    '${path}') words='${words}' ;;`).join('\n');

const bash = (cli: Command): string => `_referral_ledger() {
  local path='' words='' i
  for ((i = 1; i < COMP_CWORD && i < 3; i++)); do path="\${path:+$path }\${COMP_WORDS[i]}"; done
  case "$path" in
${cases(cli)}
  esac
  COMPREPLY=($(compgen -W "$words" -- "\${COMP_WORDS[COMP_CWORD]}"))
  [ \${#COMPREPLY[@]} -gt 0 ] || compopt -o default
}
complete -F _referral_ledger referral-ledger ledger-service
`;

const zsh = (cli: Command): string => `#compdef referral-ledger ledger-service
_referral_ledger() {
  local path_words="\${(j: :)words[2,$((CURRENT < 4 ? CURRENT - 1 : 3))]}" found=''
  case "$path_words" in
${cases(cli).replaceAll(") words='", ") found='")}
  esac
  if [ -n "$found" ]; then compadd -- \${=found}; else _files; fi
}
if [ "\${funcstack[1]}" = _referral-ledger ]; then _referral_ledger "$@"
else compdef _referral_ledger referral-ledger ledger-service; fi
`;
