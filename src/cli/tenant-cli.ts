import type { Command } from 'commander';
import { COUNTED_CALLS, PUBLIC_USERS, type OpenRules } from '../domain/tenant/open-rules.js';
import { DEFAULT_PROGRAM } from '../domain/tenant/program-document.js';
import type {
  TenantCommand,
  OpenTenant,
  ProgramDocument,
} from '../domain/tenant/tenant.decider.js';
import { MAIL_TYPES } from '../themes/theme-instance.js';
import { timeOf } from '../operations/ledger/ledger-selection.js';
import { parseProgram } from '../operations/tenants/program-schema.js';
import { checkAlias, parseOrigins, parsePublicUser, parseRateLimits } from './arguments.js';
import { CommandError } from './command-error.js';
import {
  note,
  printJson,
  printTable,
  readJsonFile,
  withCore,
  type OutputOptions,
} from './command-line.js';
import { done } from './outcomes.js';
import { addAccessCommands } from './tenant-access-cli.js';
import { mailCommand, parseMailChanges } from './tenant-mails.js';
import { accepted, existing, existingIn, show, shown, shownWithMail } from './tenant-document.js';

interface UpdateOptions {
  readonly openEndpoints?: boolean;
  readonly paymentProvider?: boolean;
  readonly tokenExpiry?: boolean;
  readonly allowOrigin?: readonly string[];
  readonly rateLimit?: readonly string[];
  readonly tokensNotBefore?: string;
  readonly publicUser?: string;
  readonly mail?: readonly string[];
  readonly mailTestTo?: readonly string[];
  readonly mailDomains?: readonly string[];
}

const changedRulesOf = ({
  tokenExpiry,
  allowOrigin,
  rateLimit,
  publicUser,
}: UpdateOptions): Partial<OpenRules> => ({
  ...(tokenExpiry === undefined ? {} : { tokensMustExpire: tokenExpiry }),
  ...(allowOrigin === undefined ? {} : { allowedOrigins: parseOrigins(allowOrigin) }),
  ...(rateLimit === undefined ? {} : { rateLimits: parseRateLimits(rateLimit) }),
  ...(publicUser === undefined ? {} : { publicUser: parsePublicUser(publicUser) }),
});

/** One command for each kind of setting. @throws {CommandError} for a bad value. */
function changesOf(options: UpdateOptions, now: number): TenantCommand[] {
  const { openEndpoints, paymentProvider, tokensNotBefore } = options;
  const changes = changedRulesOf(options);
  const commands: TenantCommand[] = [];
  if (Object.keys(changes).length > 0) commands.push({ type: 'ChangeOpenRules', changes, now });
  if (tokensNotBefore !== undefined)
    commands.push({
      type: 'ChangeTokensNotBefore',
      tokensNotBefore:
        tokensNotBefore === 'none'
          ? null
          : (done(timeOf('tokensNotBefore', tokensNotBefore, now)) ?? null),
      now,
    });
  if (openEndpoints !== undefined)
    commands.push({ type: 'SwitchOpenEndpoints', openEndpoints, now });
  if (paymentProvider !== undefined) {
    const programType = paymentProvider ? 'PAYMENT_PROVIDER' : 'API_ONLY';
    commands.push({ type: 'ChangeProgramType', programType, now });
  }
  return commands;
}

/** `tenant …` and `program …`. */
export function addTenantCommands(cli: Command): void {
  const tenant = cli.command('tenant').description('tenants, their keys and settings');
  tenant
    .command('create <alias>')
    .description('creates a tenant; its keys are shown only now')
    .option('--program <file>', 'a program file in place of the default program')
    .option('--payment-provider', 'accounts come from a payment provider')
    .option('--open-endpoints', 'switch the open endpoints on')
    .option('--json', 'one JSON document (the answer always is)')
    .action(
      async (
        alias: string,
        options: { program?: string; paymentProvider?: boolean; openEndpoints?: boolean },
      ) => {
        checkAlias(alias);
        const program =
          options.program === undefined ? DEFAULT_PROGRAM : await readProgram(options.program);
        const made = await withCore(({ tenantCommands }) =>
          tenantCommands.create({
            alias,
            programType: options.paymentProvider ? 'PAYMENT_PROVIDER' : 'API_ONLY',
            openEndpoints: options.openEndpoints ?? false,
            program,
          }),
        );
        printJson(accepted(made, alias));
        note('These secrets are shown this once.');
      },
    );

  tenant
    .command('list')
    .description('all tenants')
    .option('--json', 'one JSON document')
    .action(async ({ json }: OutputOptions) => {
      const tenants = (await withCore(({ tenantCommands }) => tenantCommands.list())).map(shown);
      if (json) return printJson(tenants);
      printTable(
        ['alias', 'program type', 'open endpoints', 'programs'],
        tenants.map((row) => [
          row.alias,
          row.programType,
          row.openEndpoints ? 'on' : 'off',
          row.programs.map(({ id }) => id).join(', '),
        ]),
      );
    });

  tenant
    .command('show <alias>')
    .description('the settings of a tenant, without secrets')
    .option('--json', 'one JSON document')
    .action(async (alias: string, { json }: OutputOptions) => {
      checkAlias(alias);
      show(
        await withCore(async (core) => shownWithMail(core, await existingIn(core, alias))),
        json,
      );
    });

  tenant
    .command('update <alias>')
    .description('changes the settings of a tenant')
    .option('--open-endpoints', 'switch the open endpoints on')
    .option('--no-open-endpoints', 'switch the open endpoints off')
    .option('--payment-provider', 'accounts come from a payment provider')
    .option('--no-payment-provider', 'an API-only program')
    .option('--token-expiry', 'refuse user tokens without exp')
    .option('--no-token-expiry', 'take user tokens without exp')
    .option(
      '--allow-origin <origin...>',
      'the only origins whose pages may read open endpoints; * for all',
    )
    .option(
      '--rate-limit <call=number...>',
      `calls of a client in a window: ${COUNTED_CALLS.join(', ')}`,
    )
    .option(
      '--tokens-not-before <time>',
      'refuse user tokens that were issued before; none for tokens of any age',
    )
    .option(
      '--public-user <view>',
      `what GET /open/user shows of the owner of a code: ${PUBLIC_USERS.join(', ')} (without e-mail and last name)`,
    )
    .option('--mail <type...>', `which mails go out: ${MAIL_TYPES.join(', ')}; none for none`)
    .option(
      '--mail-test-to <address...>',
      'the only addresses that the test mode sends to; none for none',
    )
    .option(
      '--mail-domains <domain...>',
      'the domains that mails may name as their sender; none for none',
    )
    .option('--json', 'one JSON document')
    .action(async (alias: string, { json, ...options }: OutputOptions & UpdateOptions) => {
      checkAlias(alias);
      const commands = changesOf(options, Date.now());
      const mails = parseMailChanges(options);
      if (commands.length === 0 && mails === undefined)
        throw new CommandError('nothing to change was named: see tenant update --help');
      const tenantAfter = await withCore(async (core) => {
        const { tenantCommands } = core;
        if (mails) commands.push(await mailCommand(core, alias, mails));
        let after: OpenTenant | undefined;
        for (const command of commands)
          after = accepted(await tenantCommands.execute(alias, command), alias);
        return after && shownWithMail(core, after);
      });
      if (tenantAfter) show(tenantAfter, json);
    });
  addAccessCommands(tenant);
}

/** `program apply` and `show`. */
export function addProgramCommands(cli: Command): void {
  const program = cli.command('program').description('the program files of a tenant');
  program
    .command('apply <alias> <file>')
    .description('applies a program file; rewards earned before keep their terms')
    .option('--json', 'one JSON document')
    .action(async (alias: string, file: string, { json }: OutputOptions) => {
      checkAlias(alias);
      const document = await readProgram(file);
      const after = await withCore(async ({ tenantCommands }) =>
        accepted(
          await tenantCommands.execute(alias, {
            type: 'ApplyProgram',
            program: document,
            now: Date.now(),
          }),
          alias,
        ),
      );
      const applied = shown(after).programs.find(({ id }) => id === document.id);
      if (json) return printJson({ alias, ...applied });
      process.stdout.write(
        `${alias}: program ${document.id} is at version ${applied?.version ?? 0}\n`,
      );
    });

  program
    .command('show <alias>')
    .description('the applied programs of a tenant')
    .option('--json', 'one JSON document (the answer always is)')
    .action(async (alias: string) => {
      printJson(shown(await existing(alias)).programs);
    });
}

async function readProgram(file: string): Promise<ProgramDocument> {
  const program = parseProgram(await readJsonFile(file));
  if ('problems' in program && Array.isArray(program.problems))
    throw new CommandError(`${file}: ${program.problems.join('; ')}`);
  return program as ProgramDocument;
}
