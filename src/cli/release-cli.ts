import type { Command } from 'commander';
import { confirmRelease, showRelease } from '../operations/releases/release-commands.js';
import {
  withProjections,
  type ProjectionOperator,
} from '../operations/projections/projection-operator.js';
import type { Outcome } from '../operations/outcome.js';
import { note, printJson, printTable, withCore, type OutputOptions } from './command-line.js';
import { checkedActor } from './arguments.js';
import { done } from './outcomes.js';

interface ReleaseOptions extends OutputOptions {
  readonly by?: string;
}

const JSON_OUT = ['--json', 'one JSON document'] as const;

/** `release …` */
export function addReleaseCommands(cli: Command): void {
  const release = cli
    .command('release')
    .description('the change from one release of the service to another');
  release
    .command('status')
    .description('whether this release is confirmed, and what it has built beside another one')
    .option(...JSON_OUT)
    .action(async ({ json }: OutputOptions) => {
      const shown = await operate({}, showRelease);
      if (json) return printJson(shown);
      const { confirmed, otherProcesses, migrations, projections } = shown;
      process.stdout.write(
        `confirmed: ${confirmed ? 'yes' : 'no'}\nprocesses of other releases: ${otherProcesses}\n`,
      );
      for (const [kind, names] of Object.entries(migrations))
        if (names.length > 0) process.stdout.write(`${kind} migrations: ${names.join(', ')}\n`);
      printTable(
        ['projection', 'generation', 'state', 'complete', 'position'],
        projections.map(({ projection, generation, state, complete, position }) => [
          projection,
          String(generation ?? ''),
          state ?? 'not built',
          complete ? 'yes' : 'no',
          position ?? '',
        ]),
      );
    });
  release
    .command('confirm')
    .description(
      'makes this release the one of the database: older ones that lack its migrations cannot start any more',
    )
    .option(
      '--by <who>',
      'the operator, for the history; default: the user of the operating system',
    )
    .option(...JSON_OUT)
    .action(async (options: ReleaseOptions) => {
      const document = await operate(options, confirmRelease);
      if (options.json) return printJson(document);
      process.stdout.write('confirmed\n');
    });
}

async function operate<T>(
  { by }: Pick<ReleaseOptions, 'by'>,
  work: (operator: ProjectionOperator) => Promise<Outcome<T>>,
): Promise<T> {
  const actor = checkedActor(by);
  const { signal } = new AbortController();
  return done(await withCore((core) => withProjections(core, { actor, signal, warn: note }, work)));
}
