import type { Command } from 'commander';
import type { Refused } from '../domain/refusal.js';
import { CALL_WINDOWS, COUNTED_CALLS, type OpenRules } from '../domain/tenant/open-rules.js';
import { DEFAULT_PROGRAM, programsOf } from '../domain/tenant/program-document.js';
import type {
  TenantCommand,
  OpenTenant,
  ProgramDocument,
} from '../domain/tenant/tenant.decider.js';
import { checkAlias, parseMode, parseOrigins, parseRateLimits } from './arguments.js';
import { CommandError } from './command-error.js';
import { parseProgram } from '../operations/tenants/program-schema.js';
import {
  note,
  parseDuration,
  printJson,
  printTable,
  readJsonFile,
  withCore,
  type OutputOptions,
} from './command-line.js';

interface UpdateOptions {
  readonly openEndpoints?: boolean;
  readonly paymentProvider?: boolean;
  readonly tokenExpiry?: boolean;
  readonly allowOrigin?: readonly string[];
  readonly rateLimit?: readonly string[];
}

const changedRulesOf = ({
  tokenExpiry,
  allowOrigin,
  rateLimit,
}: UpdateOptions): Partial<OpenRules> => ({
  ...(tokenExpiry === undefined ? {} : { tokensMustExpire: tokenExpiry }),
  ...(allowOrigin === undefined ? {} : { allowedOrigins: parseOrigins(allowOrigin) }),
  ...(rateLimit === undefined ? {} : { rateLimits: parseRateLimits(rateLimit) }),
});

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
      show(await existing(alias), json);
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
    .option('--json', 'one JSON document')
    .action(
      async (
        alias: string,
        { openEndpoints, paymentProvider, json, ...rules }: OutputOptions & UpdateOptions,
      ) => {
        checkAlias(alias);
        const now = Date.now();
        const changes = changedRulesOf(rules);
        const commands: TenantCommand[] = [
          ...(Object.keys(changes).length === 0
            ? []
            : [{ type: 'ChangeOpenRules', changes, now } as const]),
          ...(openEndpoints === undefined
            ? []
            : [{ type: 'SwitchOpenEndpoints', openEndpoints, now } as const]),
          ...(paymentProvider === undefined
            ? []
            : [
                {
                  type: 'ChangeProgramType',
                  programType: paymentProvider ? 'PAYMENT_PROVIDER' : 'API_ONLY',
                  now,
                } as const,
              ]),
        ];
        if (commands.length === 0)
          throw new CommandError('nothing to change was named: see tenant update --help');
        const tenantAfter = await withCore(async ({ tenantCommands }) => {
          let after: OpenTenant | undefined;
          for (const command of commands)
            after = accepted(await tenantCommands.execute(alias, command), alias);
          return after;
        });
        if (tenantAfter) show(tenantAfter, json);
      },
    );

  tenant
    .command('rotate-key <alias>')
    .description('a new API key; the old one stays valid for the grace period')
    .option('--grace <duration>', 'how long the old key stays valid', '24h')
    .option('--mode <mode>', 'live or test', 'live')
    .option('--json', 'one JSON document (the answer always is)')
    .action(async (alias: string, options: { grace: string; mode: string }) => {
      checkAlias(alias);
      const graceMs = parseDuration(options.grace);
      const mode = parseMode(options.mode);
      const fresh = accepted(
        await withCore(({ tenantCommands }) => tenantCommands.rotateKeys(alias, [mode], graceMs)),
        alias,
      );
      printJson({
        alias,
        ...(fresh.live ? { liveApiKey: fresh.live } : {}),
        ...(fresh.test ? { testApiKey: fresh.test } : {}),
      });
      note(`This key is shown this once. The one before stays good for ${options.grace}.`);
    });
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

function shown(tenant: OpenTenant) {
  return {
    alias: tenant.alias,
    createdAt: new Date(tenant.createdAt).toISOString(),
    programType: tenant.programType,
    openEndpoints: tenant.openEndpoints,
    tokensMustExpire: tenant.openRules.tokensMustExpire,
    allowedOrigins: tenant.openRules.allowedOrigins,
    rateLimits: Object.fromEntries(
      COUNTED_CALLS.map((call) => [
        call,
        tenant.openRules.rateLimits[call] ?? CALL_WINDOWS[call].calls,
      ]),
    ),
    defaultProgram: tenant.defaultProgramId,
    programs: programsOf(tenant).map(({ id, version, isDefault }) => ({
      id,
      version,
      default: isDefault,
      document: tenant.programs[id]?.document,
    })),
    keys: tenant.keys.map(({ keyId, mode, validUntil }) => ({
      keyId,
      mode,
      validUntil: validUntil === null ? null : new Date(validUntil).toISOString(),
    })),
  };
}

function show(tenant: OpenTenant, json: boolean | undefined): void {
  const facts = shown(tenant);
  if (json) return printJson(facts);
  printTable(
    ['setting', 'value'],
    [
      ['alias', facts.alias],
      ['made', facts.createdAt],
      ['program type', facts.programType],
      ['open endpoints', facts.openEndpoints ? 'on' : 'off'],
      ['user tokens must expire', facts.tokensMustExpire ? 'yes' : 'no'],
      ['allowed origins', facts.allowedOrigins.join(', ') || 'all'],
      ...Object.entries(facts.rateLimits).map(([call, calls]) => [
        'rate limit',
        `${call}: ${calls}`,
      ]),
      ...facts.programs.map(({ id, version, default: isDefault }) => [
        'program',
        `${id}, version ${version}${isDefault ? ', default' : ''}`,
      ]),
      ...facts.keys.map(({ keyId, validUntil }) => [
        'API key',
        validUntil === null ? keyId : `${keyId}, good until ${validUntil}`,
      ]),
    ],
  );
}

async function existing(alias: string): Promise<OpenTenant> {
  checkAlias(alias);
  const tenant = await withCore(({ tenants }) => tenants.read(alias));
  if (!tenant) throw new CommandError(`there is no tenant ${alias}`);
  return tenant;
}

async function readProgram(file: string): Promise<ProgramDocument> {
  const program = parseProgram(await readJsonFile(file));
  if ('problems' in program && Array.isArray(program.problems))
    throw new CommandError(`${file}: ${program.problems.join('; ')}`);
  return program as ProgramDocument;
}

function accepted<T extends object>(result: T | Refused, alias: string): T {
  if (!('refused' in result)) return result;
  switch (result.refused) {
    case 'TENANT_EXISTS':
      throw new CommandError(`there is a tenant ${alias} already`);
    case 'TENANT_NOT_FOUND':
      throw new CommandError(`there is no tenant ${alias}`);
    case 'RECORD_TOO_LARGE':
      throw new CommandError(
        'the program file is too large: a pool of codes is filled up by applying the program again with the next ones',
      );
    default:
      throw new CommandError(`refused: ${result.refused}`);
  }
}
