import { writeFile } from 'node:fs/promises';
import type { Command } from 'commander';
import { loadConfig, publicUrlAt } from '../config/config.js';
import { previewTheme } from '../operations/themes/theme-preview.js';
import { isMailType, MAIL_TYPES } from '../themes/theme-instance.js';
import { scopeOf } from './arguments.js';
import { CommandError } from './command-error.js';
import { note, printJson, withCore, type OutputOptions } from './command-line.js';
import { done } from './outcomes.js';

interface PreviewOptions extends OutputOptions {
  readonly mode: string;
  readonly type: string;
  readonly locale?: string | null;
  readonly out?: string;
}

/** `theme preview` */
export function addThemePreviewCommand(group: Command): void {
  group
    .command('preview <tenant>')
    .description('a mail with sample values, as HTML')
    .requiredOption('--type <type>', MAIL_TYPES.join(', '))
    .option('--mode <mode>', 'live or test', 'live')
    .option('--locale <locale>', 'such as fr or fr_CA; without one: the default')
    .option('--out <file>', 'where to; without one, or with -, to standard output')
    .option('--json', 'one JSON document, with the HTML in it unless --out names a file')
    .action(preview);
}

async function preview(
  tenant: string,
  { mode, type, locale = null, out = '-', json }: PreviewOptions,
): Promise<void> {
  const scope = scopeOf(tenant, mode);
  if (!isMailType(type)) throw new CommandError(`--type must be one of ${MAIL_TYPES.join(', ')}`);
  const config = loadConfig();
  const publicUrl = publicUrlAt(config, config.port);
  const { shown: preview, unknownNames } = await withCore(async (core) =>
    done(await previewTheme(core, { scope, type, locale }, publicUrl)),
  );
  const { html, ...shown } = preview;
  if (unknownNames.length > 0)
    note(`The mail leaves out unknown names: ${unknownNames.join(', ')}`);
  const isFile = out !== '-';
  if (isFile)
    await writeFile(out, html).catch(() => {
      throw new CommandError(`${out} cannot be written`);
    });
  if (json) printJson({ ...shown, out: isFile ? out : null, html: isFile ? null : html });
  else if (!isFile) process.stdout.write(html);
}
