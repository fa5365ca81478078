import type { Command } from 'commander';
import jwt from 'jsonwebtoken';
import { ApiError } from '../http/api-error.js';
import { isIdentifier } from '../http/parameters.js';
import { UserRequest } from '../http/requests/user.request.js';
import { parseRequest } from '../http/validation.js';
import { checkAlias, parseMode } from './arguments.js';
import { CommandError, parseDuration, printJson, withCore } from './command-line.js';

interface SignOptions {
  readonly account: string;
  readonly user: string;
  readonly write?: readonly string[];
  readonly expires: string;
  readonly mode: string;
  readonly json?: boolean;
}

/** `token …`. */
export function addTokenCommands(cli: Command): void {
  cli
    .command('token')
    .description('user tokens, for trying')
    .command('sign <alias>')
    .description('a token of one user; with --write it may write these fields, without it reads')
    .requiredOption('--account <id>', 'the account')
    .requiredOption('--user <id>', 'the user in it')
    .option('--write <field=value...>', 'a field that the token carries; values that begin with { or [, true and false are JSON')
    .option('--expires <duration>', 'how long it is good', '1h')
    .option('--mode <mode>', 'live or test', 'live')
    .option('--json', 'one JSON document')
    .action(async (alias: string, options: SignOptions) => {
      checkAlias(alias);
      const mode = parseMode(options.mode);
      const expiresMs = parseDuration(options.expires);
      if (expiresMs < 1_000) throw new CommandError('--expires must be a second or more');
      const claims = {
        user: { id: idOf('--user', options.user), accountId: idOf('--account', options.account), ...fieldsOf(options.write ?? []) },
      };
      const secret = await withCore(async ({ tenants, tokenSecrets }) => {
        const tenant = await tenants.read(alias);
        if (!tenant) throw new CommandError(`there is no tenant ${alias}`);
        return tokenSecrets.of(tenant).find((candidate) => candidate.mode === mode)?.secret;
      });
      if (!secret) throw new CommandError(`the tenant ${alias} has no secret for ${mode} mode`);
      const token = jwt.sign(claims, secret, { algorithm: 'HS256', expiresIn: Math.floor(expiresMs / 1_000) });
      if (options.json) return printJson({ token });
      process.stdout.write(`${token}\n`);
    });
}

function idOf(option: string, id: string): string {
  if (!isIdentifier(id)) throw new CommandError(`${option} must be 1 to 255 characters without control characters`);
  return id;
}

/** What the token says of its user, checked as a body would be: a claim that no body can repeat is of no use. */
function fieldsOf(written: readonly string[]): Readonly<Record<string, unknown>> {
  const fields = Object.fromEntries(written.map(fieldOf));
  const known: object = readable(fields);
  const [unknown] = Object.keys(fields).filter((name) => !Object.hasOwn(known, name));
  if (unknown !== undefined)
    throw new CommandError(`--write: ${JSON.stringify(unknown.slice(0, 64))} is no field of a user, or has no value`);
  return fields;
}

function fieldOf(assignment: string): [string, unknown] {
  const [, name, value = ''] = /^([A-Za-z]+)=(.*)$/s.exec(assignment) ?? [];
  if (name === undefined || name === 'id' || name === 'accountId')
    throw new CommandError('--write takes field=value, for fields other than the ids');
  return [name, /^(?:[{[].*|true|false|null)$/s.test(value) ? jsonOf(name, value) : value];
}

function jsonOf(name: string, value: string): unknown {
  try {
    return JSON.parse(value) as unknown;
  } catch {
    throw new CommandError(`--write ${name}: the value is no JSON`);
  }
}

function readable(fields: Readonly<Record<string, unknown>>): UserRequest {
  try {
    return parseRequest(UserRequest, fields);
  } catch (error) {
    if (error instanceof ApiError) throw new CommandError(`--write: ${(error.body.validationErrors ?? []).join('; ')}`);
    throw error;
  }
}
