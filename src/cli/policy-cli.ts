import type { Command } from 'commander';
import { operatingSystemUser } from '../operations/audit.js';
import { filled, LIMIT_MAX, parseLimit } from './arguments.js';
import { CommandError } from './command-error.js';
import {
  malformedId,
  retryParkedReactions,
  showParked,
  skipParkedReaction,
} from '../operations/policies/policy-commands.js';
import { note, printJson, printTable, withCore, type OutputOptions } from './command-line.js';
import { done } from './outcomes.js';

/** `policy …` */
export function addPolicyCommands(cli: Command): void {
  const policy = cli.command('policy').description('parked reactions to events: list, retry, skip');
  policy
    .command('parked')
    .description('reactions that failed for good and streams that cannot be read, oldest first')
    .option('--limit <number>', `entries to show, up to ${LIMIT_MAX}`, '1000')
    .option('--json', 'one JSON document')
    .action(async ({ json, limit }: OutputOptions & { limit: string }) => {
      const most = parseLimit(limit);
      const parked = await withCore((core) => showParked(core, most));
      if (json) return printJson(parked);
      if (parked.length === 0) return void process.stdout.write('nothing is parked\n');
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
    .argument('[id]', 'the id of one reaction; default: all')
    .option('--all', 'all parked reactions')
    .description('retries parked reactions, with or without a running service')
    .option('--json', 'one JSON document')
    .action(retryCommand);
  policy
    .command('skip')
    .argument('<id>', 'the id of the reaction')
    .requiredOption('--reason <text>', 'why')
    .option('--by <name>', 'the member of staff; default: the user of the operating system')
    .description('ends a parked reaction without running it')
    .option('--json', 'one JSON document')
    .action(skipCommand);
}

async function skipCommand(
  id: string,
  { reason, by, json }: OutputOptions & { reason: string; by?: string },
): Promise<void> {
  const why = filled('--reason', reason);
  const who = filled('--by', by ?? operatingSystemUser());
  done(malformedId(id));
  const { signal } = new AbortController();
  const skipped = await withCore(async (core) =>
    done(await skipParkedReaction(core, id, { by: who, reason: why, signal, warn: note })),
  );
  if (json) return printJson(skipped);
  process.stdout.write(`skipped ${skipped.id}: ${skipped.policy}, event ${skipped.eventId}\n`);
}

async function retryCommand(
  id: string | undefined,
  { all = false, json }: OutputOptions & { all?: boolean },
): Promise<void> {
  if (id !== undefined && all) throw new CommandError('name one reaction, or say --all');
  // Checked before the stores are opened, which may be unreachable.
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
    if (stopping.signal.aborted)
      throw new CommandError('stopped; the remaining reactions are unchanged');
  } finally {
    process.off('SIGINT', stop).off('SIGTERM', stop);
  }
}
