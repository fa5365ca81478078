import type { Command } from 'commander';
import type { Core } from '../stores/core.js';
import type { TenantCommand } from '../domain/tenant/tenant.decider.js';
import { memberOfStaff, operatingSystemUser, staffSays } from '../operations/audit.js';
import { checkAlias, filled, parseMode, scopeOf } from './arguments.js';
import { note, parseDuration, printJson, withCore, type OutputOptions } from './command-line.js';
import { accepted, show, shownWithMail } from './tenant-document.js';

interface RotationOptions {
  readonly grace: string;
  readonly mode: string;
}

/** `tenant rotate-key`, `rotate-secret`, `suspend` and `resume`: who is let in. */
export function addAccessCommands(tenant: Command): void {
  addRotation(tenant, 'rotate-key', 'API key');
  addRotation(tenant, 'rotate-secret', 'signing secret');
  tenant
    .command('suspend <alias>')
    .description('lets nobody in; the data stay')
    .requiredOption('--reason <text>', 'why')
    .option('--json', 'one JSON document')
    .action(async (alias: string, options: OutputOptions & { reason: string }) => {
      const reason = filled('--reason', options.reason);
      const scope = scopeOf(alias, 'live');
      const staff = operatingSystemUser();
      await change(scope.tenant, options, ({ names }) => ({
        type: 'SuspendTenant',
        reason: staffSays(names, scope, staff, reason),
        by: memberOfStaff(names, scope, staff),
        now: Date.now(),
      }));
    });
  tenant
    .command('resume <alias>')
    .description('lets a suspended tenant in again')
    .option('--json', 'one JSON document')
    .action((alias: string, options: OutputOptions) =>
      change(alias, options, () => ({ type: 'ResumeTenant', now: Date.now() })),
    );
}

async function change(
  alias: string,
  { json }: OutputOptions,
  command: (core: Core) => TenantCommand,
): Promise<void> {
  checkAlias(alias);
  const facts = await withCore(async (core) => {
    const changed = accepted(await core.tenantCommands.execute(alias, command(core)), alias);
    return shownWithMail(core, changed);
  });
  show(facts, json);
}

function addRotation(
  tenant: Command,
  name: 'rotate-key' | 'rotate-secret',
  what: 'API key' | 'signing secret',
): void {
  tenant
    .command(`${name} <alias>`)
    .description(`a new ${what}; the old one stays valid for the grace period`)
    .option('--grace <duration>', 'how long the old one stays valid; 0 ends it now', '24h')
    .option('--mode <mode>', 'live or test', 'live')
    .option('--json', 'one JSON document (the answer always is)')
    .action(async (alias: string, { grace, mode: modeName }: RotationOptions) => {
      checkAlias(alias);
      const graceMs = parseDuration(grace);
      const modes = [parseMode(modeName)];
      const { live, test } = accepted(
        await withCore(({ tenantCommands }) =>
          name === 'rotate-key'
            ? tenantCommands.rotateKeys(alias, modes, graceMs)
            : tenantCommands.rotateSigningSecrets(alias, modes, graceMs),
        ),
        alias,
      );
      const suffix = name === 'rotate-key' ? 'ApiKey' : 'SigningSecret';
      printJson({
        alias,
        ...(live ? { [`live${suffix}`]: live } : {}),
        ...(test ? { [`test${suffix}`]: test } : {}),
      });
      note(`This ${what} is shown this once. The one before stays good for ${grace}.`);
    });
}
