import type { Command } from 'commander';
import jwt from 'jsonwebtoken';
import { checkAlias, parseMode } from './arguments.js';
import { CommandError } from './command-error.js';
import { parseDuration, printJson, withCore } from './command-line.js';

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
    .description('a read token of a user; with --write, a write token with these fields')
    .requiredOption('--account <id>', 'the account')
    .requiredOption('--user <id>', 'the user of the token')
    .option(
      '--write <field=value...>',
      'a field in the token; values that begin with { or [, true and false are JSON',
    )
    .option('--expires <duration>', 'how long the token is valid', '1h')
    .option('--mode <mode>', 'live or test', 'live')
    .option('--json', 'one JSON document')
    .action(async (alias: string, options: SignOptions) => {
      checkAlias(alias);
      const mode = parseMode(options.mode);
      const expiresMs = parseDuration(options.expires);
      if (expiresMs < 1_000) throw new CommandError('--expires must be a second or more');
      // Loaded for this command only: the validation of bodies takes longer to load than all the
      // rest.
      const { fieldsOf, idOf } = await import('./token-fields.js');
      const claims = {
        user: {
          id: idOf('--user', options.user),
          accountId: idOf('--account', options.account),
          ...fieldsOf(options.write ?? []),
        },
      };
      const secret = await withCore(async ({ tenants, tokenSecrets }) => {
        const tenant = await tenants.read(alias);
        if (!tenant) throw new CommandError(`there is no tenant ${alias}`);
        const secrets = await tokenSecrets.of(tenant);
        return secrets.find((candidate) => candidate.mode === mode)?.secret;
      });
      if (!secret) throw new CommandError(`the tenant ${alias} has no secret for ${mode} mode`);
      const token = jwt.sign(claims, secret, {
        algorithm: 'HS256',
        expiresIn: Math.floor(expiresMs / 1_000),
      });
      if (options.json) return printJson({ token });
      process.stdout.write(`${token}\n`);
    });
}
