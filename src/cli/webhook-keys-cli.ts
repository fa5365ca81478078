import type { Command } from 'commander';
import { operatingSystemUser } from '../operations/audit.js';
import { rotateSigningKey } from '../operations/webhooks/rotate-signing-key.js';
import { filled } from './arguments.js';
import { parseDuration, printJson, withCore, type OutputOptions } from './command-line.js';

interface RotateOptions extends OutputOptions {
  readonly grace: string;
  readonly by?: string;
}

/** `webhook rotate-signing-key`. */
export function addSigningKeyCommands(webhook: Command): void {
  webhook
    .command('rotate-signing-key')
    .description('a new key for the JWS of all webhooks; the one before is served for the grace')
    .option('--grace <duration>', 'how long the key before is served', '7d')
    .option('--by <name>', 'who rotates it; default: the user of the operating system')
    .option('--json', 'one JSON document')
    .action(async ({ grace, by, json }: RotateOptions) => {
      const rotation = {
        graceMs: parseDuration(grace),
        by: filled('--by', by ?? operatingSystemUser()),
      };
      const rotated = await withCore((core) => rotateSigningKey(core, rotation));
      if (json) printJson(rotated);
      else process.stdout.write(`webhooks are signed with the key ${rotated.kid} from now on\n`);
    });
}
