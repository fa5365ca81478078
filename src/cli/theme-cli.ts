import type { Command } from 'commander';
import type { Core } from '../stores/core.js';
import type { Scope } from '../domain/scope.js';
import { operatingSystemUser } from '../operations/audit.js';
import { auditedOn, type Done } from '../operations/audited.js';
import type { Outcome } from '../operations/outcome.js';
import {
  HISTORY_MAX,
  putTheme,
  rollBackTheme,
  showTheme,
  showThemeHistory,
  type ChangedTheme,
} from '../operations/themes/theme-commands.js';
import { parseLimit, scopeOf } from './arguments.js';
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
import { addThemePreviewCommand } from './theme-preview-cli.js';

interface ThemeOptions extends OutputOptions {
  readonly mode: string;
  readonly locale?: string | null;
}

/** `theme …` */
export function addThemeCommands(cli: Command): void {
  const group = cli.command('theme').description('words and colours of a tenant');
  const command = (words: string, description: string): Command =>
    group
      .command(words)
      .description(description)
      .option('--mode <mode>', 'live or test', 'live')
      .option('--locale <locale>', 'such as fr or fr_CA; without one: the default')
      .option('--json', 'one JSON document');
  command('get <tenant>', 'the theme as it is shown (always JSON)')
    .option('--version <number>', 'the own values of a version instead')
    .action(get);
  command('put <tenant>', 'replaces the values')
    .requiredOption('--file <file>', 'a JSON document with the values')
    .action(put);
  command('history <tenant>', 'versions, newest first')
    .option('--limit <number>', `entries to show, up to ${HISTORY_MAX}`, '100')
    .action(history);
  command('rollback <tenant>', "makes a version's values current again, as a new version")
    .requiredOption('--version <number>', 'as `theme history` shows it')
    .action(rollBack);
  addThemePreviewCommand(group);
}

async function get(
  tenant: string,
  options: ThemeOptions & { readonly version?: string },
): Promise<void> {
  const scope = scopeOf(tenant, options.mode);
  const { locale = null } = options;
  const version = options.version === undefined ? undefined : parseVersion(options.version);
  const shown = await withCore(async (core) =>
    done(await showTheme(core, scope, { locale, version })),
  );
  printJson(shown);
}

async function put(
  tenant: string,
  { mode, locale = null, file, json }: ThemeOptions & { readonly file: string },
): Promise<void> {
  const scope = scopeOf(tenant, mode);
  const values = await readJsonFile(file);
  const by = operatingSystemUser();
  const changed = await onRecord(scope, 'theme put', (core) =>
    putTheme(core, scope, { locale, values, by }),
  );
  printChange(changed, json);
}

async function history(
  tenant: string,
  { mode, locale = null, limit: most, json }: ThemeOptions & { readonly limit: string },
): Promise<void> {
  const scope = scopeOf(tenant, mode);
  const limit = Math.min(parseLimit(most), HISTORY_MAX);
  const versions = await withCore(async (core) =>
    done(await showThemeHistory(core, scope, { locale, limit })),
  );
  if (json) return printJson(versions);
  printTable(
    ['version', 'created', 'by', 'what'],
    versions.map(({ version, created, by, removed, restores }) => [
      String(version),
      created,
      by ?? '',
      removed ? 'removed' : restores === null ? 'published' : `version ${restores} again`,
    ]),
  );
  if (versions.length === limit) note(`the newest ${limit}; there may be more`);
}

async function rollBack(
  tenant: string,
  { mode, locale = null, version: to, json }: ThemeOptions & { readonly version: string },
): Promise<void> {
  const scope = scopeOf(tenant, mode);
  const version = parseVersion(to);
  const by = operatingSystemUser();
  const changed = await onRecord(scope, 'theme rollback', (core) =>
    rollBackTheme(core, scope, { locale, version, by }),
  );
  printChange(changed, json);
}

/** Runs a change with its audit event. */
function onRecord(
  scope: Scope,
  operation: string,
  work: (core: Core) => Promise<Outcome<Done<ChangedTheme>>>,
): Promise<ChangedTheme> {
  const frame = { scope, by: operatingSystemUser(), operation, warn: note };
  return withCore(async (core) => done(await auditedOn(core, frame, work)));
}

function printChange(changed: ChangedTheme, json: boolean | undefined): void {
  if (json) return printJson(changed);
  const { version, changed: isNew } = changed;
  const line = isNew
    ? `version ${version}`
    : `nothing changed: version ${version} has these values`;
  process.stdout.write(`${line}\n`);
}

function parseVersion(text: string): number {
  const version = Number(text);
  if (/^\d{1,15}$/.test(text) && version > 0) return version;
  throw new CommandError('--version takes a number such as 3, as `theme history` shows it');
}
