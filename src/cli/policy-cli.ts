import type { Command } from 'commander';
import { CommandError } from './command-error.js';
import {
  malformedId,
  retryParkedReactions,
  showParked,
} from '../operations/policies/policy-commands.js';
import { note, printJson, printTable, withCore, type OutputOptions } from './command-line.js';
import { done } from './outcomes.js';

const LIMIT_MAX = 10_000;

/** `policy …` */
export function addPolicyCommands(cli: Command): void {
  const policy = cli
    .command('policy')
    .description('reactions to events: what stands still, and trying it again');
  policy
    .command('parked')
    .description(
      'the reactions that failed again and again, and the streams that cannot be read; oldest first',
    )
    .option('--limit <number>', `entries to show, up to ${LIMIT_MAX}`, '1000')
    .option('--json', 'one JSON document')
    .action(async ({ json, limit }: OutputOptions & { limit: string }) => {
      const most = parseLimit(limit);
      const parked = await withCore((core) => showParked(core, most));
      if (json) return printJson(parked);
      if (parked.length === 0) return void process.stdout.write('nothing stands still\n');
      printTable(
        ['id', 'policy', 'event', 'position', 'reason', 'since'],
        parked.map(({ id, policy: name, eventId, position, reason, since }) => [
          id,
          name,
          eventId,
          position,
          reason,
          since,
        ]),
      );
      if (parked.length === most) note(`the oldest ${most}; there may be more`);
    });
  policy
    .command('retry')
    .argument('[id]', 'of one reaction; left out: all')
    .option('--all', 'all of them')
    .description('tries again what stands still, beside the running service or without it')
    .option('--json', 'one JSON document')
    .action(retryCommand);
}

async function retryCommand(
  id: string | undefined,
  { all = false, json }: OutputOptions & { all?: boolean },
): Promise<void> {
  if (id !== undefined && all) throw new CommandError('name one reaction, or say --all');
  // Before the stores are opened: they may be away.
  if (id !== undefined) done(malformedId(id));
  const stopping = new AbortController();
  const stop = (): void => stopping.abort();
  process.once('SIGINT', stop).once('SIGTERM', stop);
  try {
    const onProgress = (retried: number): void => note(`${retried} tried`);
    const result = await withCore(async (core) =>
      done(await retryParkedReactions(core, id, { signal: stopping.signal, onProgress })),
    );
    if (json) printJson(result);
    else
      process.stdout.write(
        `${result.retried} tried again: ${result.done} done, ${result.parked} still parked\n`,
      );
    if (stopping.signal.aborted) throw new CommandError('stopped; what was not tried is as it was');
  } finally {
    process.off('SIGINT', stop).off('SIGTERM', stop);
  }
}

function parseLimit(text: string): number {
  const limit = Number(text);
  if (!/^\d{1,5}$/.test(text) || limit < 1 || limit > LIMIT_MAX)
    throw new CommandError(`--limit takes a number from 1 to ${LIMIT_MAX}`);
  return limit;
}
