import type { Command } from 'commander';
import { execFileSync } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { commandReference } from './support/command-reference.js';
import { commandsFor, OPERATIONS, runCommandLine } from '../../src/cli/run-command-line.js';

const COMMANDS = 'docs/generated/commands.md';

const examplesOf = async (): Promise<ReadonlyMap<string, readonly string[]>> =>
  new Map([
    ...(await Promise.all(OPERATIONS.map(({ load }) => load())))
      .flat()
      .map(({ name, examples }) => [name, examples] as const),
  ]);

const callable = async (): Promise<ReadonlyMap<string, Command>> =>
  new Map(
    (await commandsFor()).commands.flatMap((group) =>
      group.commands.map((command) => [`${group.name()} ${command.name()}`, command] as const),
    ),
  );

/** The words of a line as a shell reads them: quoted ones as one, without what follows a `>`. */
const wordsOf = (line: string): string[] =>
  (line.split(' > ')[0]?.match(/"[^"]*"|\S+/g) ?? []).map((word) => word.replaceAll('"', ''));

test('the help of every command shows an example, and every example has a command', async () => {
  expect([...(await examplesOf()).keys()].sort()).toEqual([...(await callable()).keys()].sort());
  for (const [path, command] of await callable()) {
    let help = '';
    command.configureOutput({ writeOut: (text) => void (help += text) }).outputHelp();
    expect(help).toContain(`cli -- ${path}`);
  }
});

test('every example is understood', async () => {
  for (const [path, lines] of await examplesOf())
    for (const line of lines) {
      const called: string[] = [];
      const cli = await commandsFor();
      const [group = '', name = ''] = wordsOf(line);
      const target = cli.commands
        .find((each) => each.name() === group)
        ?.commands.find((each) => each.name() === name);
      target
        ?.exitOverride()
        .configureOutput({ writeErr: () => undefined })
        .action(() => void called.push(path));
      await cli.parseAsync(wordsOf(line), { from: 'user' });
      expect({ line, called }).toEqual({ line, called: [path] });
    }
});

test('the list of commands in the documentation is that of the command line', async () => {
  const made = commandReference(await commandsFor());
  if (process.env['UPDATE'] !== undefined) await writeFile(COMMANDS, made);
  expect(await readFile(COMMANDS, 'utf8')).toBe(made);
});

test('an unknown command is answered with the closest known one, in one line', async () => {
  for (const [words, line] of [
    [['ledgr'], "unknown command 'ledgr': did you mean ledger?\n"],
    [['tenant', 'shw'], "unknown command 'shw': did you mean show?\n"],
  ] as const) {
    const written: string[] = [];
    const err = jest
      .spyOn(process.stderr, 'write')
      .mockImplementation((text) => written.push(String(text)) > 0);
    try {
      expect(await runCommandLine(words)).toBe(1);
    } finally {
      err.mockRestore();
    }
    expect(written).toEqual([line]);
  }
});

test('the completion of bash knows groups, commands and options', async () => {
  const written: string[] = [];
  const out = jest
    .spyOn(process.stdout, 'write')
    .mockImplementation((text) => written.push(String(text)) > 0);
  try {
    expect(await runCommandLine(['completion', 'bash'])).toBe(0);
  } finally {
    out.mockRestore();
  }
  const complete = (...words: readonly string[]): string =>
    execFileSync(
      'bash',
      [
        '-c',
        `${written.join('')}\nCOMP_WORDS=(referral-ledger "$@"); COMP_CWORD=$#; _referral_ledger; echo "\${COMPREPLY[@]}"`,
        'bash',
        ...words,
      ],
      { encoding: 'utf8' },
    ).trim();
  expect(complete('pol')).toBe('policy');
  expect(complete('policy', '')).toBe('parked retry skip');
  expect(complete('policy', 'skip', '--rea')).toBe('--reason');
});
