import { Option, type Command } from 'commander';
import * as z from 'zod';
import { isIdempotencyKey } from '../idempotency/idempotency-key.js';
import { operatingSystemUser } from '../operations/audit.js';
import { brokenRule, membersIn, type Operation } from '../operations/registry/operation.js';
import { channels, type ChannelMember } from '../operations/registry/members.js';
import { CommandError } from './command-error.js';
import { kebab } from './outcomes.js';
import { readJsonFile, readTextFile } from './command-line.js';
import { printDocument, type Format } from './print-document.js';
import { runOperation } from './run-operation.js';

/** The commands of operations: their options, help and output follow from the registry. */

interface Member {
  readonly name: string;
  readonly type: z.ZodType;
  readonly how: ChannelMember;
  readonly schema: z.core.JSONSchema.BaseSchema;
  readonly isRequired: boolean;
}

/** Options of every command, which are no members of its request. */
interface OwnOptions {
  readonly json?: boolean;
  readonly format?: Format;
  readonly by?: string;
  readonly idempotencyKey?: string;
}

export function addOperation(group: Command, operation: Operation): void {
  const { name, summary, positions, isRecorded, isKeyed, examples, csv } = operation;
  const members = membersOf(operation);
  const command = group.command(name.slice(group.name().length + 1)).description(summary);
  const byName = new Map(members.map((member) => [member.name, member]));
  for (const position of positions) {
    const member = byName.get(position);
    if (member === undefined) continue;
    const word = kebab(position);
    command.argument(member.isRequired ? `<${word}>` : `[${word}]`, helpOf(member));
  }
  for (const member of members)
    if (!positions.includes(member.name))
      for (const option of optionsOf(member)) command.addOption(option);
  if (isKeyed) command.option('--idempotency-key <key>', 'the same key again has no second effect');
  if (isRecorded)
    command.option(
      '--by <name>',
      'the name of the operator; default: the user of the operating system',
    );
  if (csv !== undefined)
    command.addOption(
      new Option('--format <format>', 'the output format').choices(['table', 'csv', 'json']),
    );
  if (!('json' in operation.members)) command.option('--json', 'one JSON document');
  command.addHelpText('after', examplesText(examples));
  command.action(async (...given: unknown[]) => {
    const options = command.opts<Record<string, unknown> & OwnOptions>();
    const values = await valuesOf(members, (member) =>
      positions.includes(member.name)
        ? given[positions.indexOf(member.name)]
        : options[attributeOf(member)],
    );
    const request = requestOf(operation, values);
    const format = options.json ? 'json' : (options.format ?? 'table');
    const shown = await runOperation(operation, request, {
      by: { name: checkedActor(options.by), channel: 'cli' },
      key: checkedKey(options.idempotencyKey),
      isForPeople: format === 'table' && process.stdout.isTTY,
    });
    printDocument(operation, shown, request, format);
  });
}

const membersOf = (operation: Operation): readonly Member[] =>
  Object.entries(membersIn(operation, 'cli')).map(([name, type]) => ({
    name,
    type,
    how: channels.get(type) ?? {},
    schema: z.toJSONSchema(type, { io: 'input', unrepresentable: 'any' }),
    isRequired: !type.safeParse(undefined).success,
  }));

const flagOf = ({ name, how }: Member): string => how.option ?? kebab(name);

/** The property of the parsed options. */
const attributeOf = (member: Member): string => new Option(`--${flagOf(member)}`).attributeName();

const helpOf = ({ how, schema }: Member): string => {
  const text = how.help ?? schema.description ?? '';
  return schema.default === undefined || schema.default === false || schema.default === null
    ? text
    : `${text} (default: ${JSON.stringify(schema.default).replaceAll('"', '')})`;
};

function optionsOf(member: Member): readonly Option[] {
  const { schema, isRequired, how } = member;
  const flag = `--${flagOf(member)}`;
  const help = helpOf(member);
  if (schema.type === 'boolean')
    return schema.default === undefined && how.only !== 'cli'
      ? [new Option(flag, help), new Option(`--no-${flagOf(member)}`, `not ${help}`)]
      : [new Option(flag, help)];
  const placeholder = how.placeholder ?? (how.file === undefined ? kebab(member.name) : 'file');
  const isMany = schema.type === 'array' && !how.hasCommas;
  const option = new Option(
    `${flag} <${placeholder}${isMany && how.file === undefined ? '...' : ''}>`,
    help,
  );
  if (schema.type === 'object' && how.file === undefined)
    option.argParser((word: string, before?: readonly string[]) => [...(before ?? []), word]);
  if (schema.enum !== undefined) option.choices(schema.enum.map(String));
  return [option.makeOptionMandatory(isRequired)];
}

/** The values of the members, from the words of the command line. @throws {CommandError} */
async function valuesOf(
  members: readonly Member[],
  wordOf: (member: Member) => unknown,
): Promise<Readonly<Record<string, unknown>>> {
  const values = new Map<string, unknown>();
  for (const member of members) {
    const word = wordOf(member);
    if (word !== undefined) values.set(member.name, await valueOf(member, word));
  }
  return Object.fromEntries(values);
}

async function valueOf(member: Member, word: unknown): Promise<unknown> {
  const { how, schema } = member;
  if (typeof word === 'string' && word.trim() === '')
    throw new CommandError(`--${flagOf(member)} must not be empty`);
  if (how.file !== undefined)
    return how.file === 'json' ? readJsonFile(String(word)) : readTextFile(String(word));
  if (schema.type === 'integer' && /^[+-]?\d{1,16}$/.test(String(word))) return Number(word);
  if (how.hasCommas)
    return String(word)
      .split(',')
      .map((each) => each.trim());
  if (schema.type === 'object' && Array.isArray(word)) return pairsOf(member, word);
  return word;
}

/** `key=value` words. */
const pairsOf = (member: Member, words: readonly unknown[]): object =>
  Object.fromEntries(
    words.map((word) => {
      const [, key, value] = /^([^=]+)=(.*)$/s.exec(String(word)) ?? [];
      if (key === undefined) throw new CommandError(`--${flagOf(member)} takes key=value`);
      return [key, value];
    }),
  );

/** The checked request. @throws {CommandError} one line about the first fault. */
function requestOf(operation: Operation, values: object): unknown {
  const parsed = z.strictObject(membersIn(operation, 'cli')).safeParse(values);
  const wordFor = (member: string): string => wordOf(operation, member);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    throw new CommandError(`${wordFor(String(issue?.path[0]))} ${issue?.message ?? ''}`);
  }
  const broken = brokenRule(operation, parsed.data, wordFor);
  if (broken !== undefined) throw new CommandError(broken);
  return parsed.data;
}

/** How the command line names a member: `--as-of`, `<account>`. */
const wordOf = (operation: Operation, name: string): string => {
  if (operation.positions.includes(name)) return `<${kebab(name)}>`;
  const type = membersIn(operation, 'cli')[name];
  return `--${(type && channels.get(type)?.option) ?? kebab(name)}`;
};

function examplesText(examples: readonly string[]): string {
  const lines = examples.map((example) => `  npm run --silent cli -- ${example}`);
  return `\n${lines.length === 1 ? 'Example' : 'Examples'}:\n${lines.join('\n')}`;
}

/** The operator's name; without one, that of the operating system. @throws {CommandError} */
function checkedActor(by: string | undefined): string {
  if (by !== undefined && !/^(?=.*\S)[\p{L}\p{N} ._@-]{1,100}$/u.test(by))
    throw new CommandError('--by takes a name of 1 to 100 letters, digits, spaces or . _ @ -');
  return by ?? operatingSystemUser();
}

/** @throws {CommandError} */
function checkedKey(key: string | undefined): string | undefined {
  if (key !== undefined && !isIdempotencyKey(key))
    throw new CommandError('--idempotency-key must be 1 to 255 printable characters');
  return key;
}
