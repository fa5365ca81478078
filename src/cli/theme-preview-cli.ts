import { writeFile } from 'node:fs/promises';
import type { Command } from 'commander';
import { loadConfig, publicUrlAt } from '../config/config.js';
import { previewTheme } from '../operations/themes/theme-preview.js';
import { isMailType, MAIL_TYPES } from '../themes/theme-instance.js';
import { scopeOf } from './arguments.js';
import { CommandError } from './command-error.js';
import { withCore } from './command-line.js';
import { done } from './outcomes.js';

interface PreviewOptions {
  readonly mode: string;
  readonly type: string;
  readonly locale?: string | null;
  readonly out: string;
}

/** `theme preview` */
export function addThemePreviewCommand(group: Command): void {
  group
    .command('preview <tenant>')
    .description('a mail with sample values, as HTML')
    .requiredOption('--type <type>', MAIL_TYPES.join(', '))
    .option('--mode <mode>', 'live or test', 'live')
    .option('--locale <locale>', 'such as fr or fr_CA; without one: the default')
    .option('--out <file>', 'where to; - is standard output', '-')
    .action(preview);
}

async function preview(
  tenant: string,
  { mode, type, locale = null, out }: PreviewOptions,
): Promise<void> {
  const scope = scopeOf(tenant, mode);
  if (!isMailType(type)) throw new CommandError(`--type must be one of ${MAIL_TYPES.join(', ')}`);
  const config = loadConfig();
  const publicUrl = publicUrlAt(config, config.port);
  const html = await withCore(async (core) =>
    done(await previewTheme(core, { scope, type, locale }, publicUrl)),
  );
  if (out === '-') return void process.stdout.write(html);
  await writeFile(out, html).catch(() => {
    throw new CommandError(`${out} cannot be written`);
  });
}
