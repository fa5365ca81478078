import { onReadModels } from '../projections/projection-operator.js';
import { serviceOperation, type Operation } from '../registry/operation.js';
import { confirmRelease, showRelease } from './release-commands.js';

export const operations: readonly Operation[] = [
  serviceOperation({
    name: 'release status',
    summary: 'whether this release is confirmed, and what it has built next to another one',
    examples: ['release status'],
    run: (context) => onReadModels(context, showRelease),
    print: ({ confirmed, otherProcesses, migrations, projections }, printer) => {
      printer.line(`confirmed: ${confirmed ? 'yes' : 'no'}`);
      printer.line(`processes of other releases: ${otherProcesses}`);
      for (const [kind, names] of Object.entries(migrations))
        if (names.length > 0) printer.line(`${kind} migrations: ${names.join(', ')}`);
      printer.table(
        [
          'projection',
          'generation',
          ['state', ({ state }) => state ?? 'not built'],
          ['complete', ({ complete }) => (complete ? 'yes' : 'no')],
          'position',
        ],
        projections,
      );
    },
  }),
  serviceOperation({
    name: 'release confirm',
    summary: 'makes this release the one of the database; older ones cannot start any more',
    isRecorded: true,
    examples: ['release confirm'],
    run: (context) => onReadModels(context, confirmRelease),
    said: () => 'confirmed',
  }),
];
