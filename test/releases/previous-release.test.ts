import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { accountProjectors } from '../../projections/account-projectors.js';
import { CURRENT_VERSIONS } from '../../src/event-log/event-schemas.js';
import { appliedMigrations, migrateToLatest, MIGRATIONS } from '../../src/postgres/migrator.js';
import { describeSchema } from '../../src/postgres/schema-description.js';
import { inTransaction } from '../../src/postgres/transaction.js';
import {
  createGeneration,
  definitionOf,
  ensureOwnGenerations,
} from '../../src/projecting/generations/generations.js';
import type { Projector } from '../../src/projecting/projector.js';
import { accountOpened, anAccount } from '../support/account-events.js';
import { useDatabase } from '../support/database.js';
import { ProjectedLedger } from '../support/projected-ledger.js';
import { openForEach } from '../support/opened.js';

/**
 * What the previous release left in a database (test/releases/previous, written by
 * scripts/store-previous-release.mjs), under this release. `npm run soak:releases` runs both.
 */

const FOLDER = join(__dirname, 'previous');
const stored = (name: string): string => readFileSync(join(FOLDER, name), 'utf8');
const parsed = <T>(name: string, shape: z.ZodType<T>): T => shape.parse(JSON.parse(stored(name)));

const texts = z.record(z.string(), z.string());
const MIGRATION_DIGESTS = parsed('migrations.json', texts);
const READ_MODELS = parsed(
  'tables.json',
  z.array(
    z.object({
      name: z.string(),
      tables: z.array(
        z.object({
          name: z.string(),
          columns: texts,
          primaryKey: z.array(z.string()),
          indexes: z.record(
            z.string(),
            z.object({ definition: z.string(), unique: z.boolean().exactOptional() }),
          ),
        }),
      ),
    }),
  ),
);
const SAMPLES = parsed(
  'samples.json',
  z.record(z.string(), z.object({ data: z.string(), metadata: z.string() })),
);

/**
 * Lines of its description that this release has changed, each with what still holds for the
 * previous one. A line that disappears without an entry here breaks that release.
 */
const CHANGED: readonly string[] = [];

const { pool } = useDatabase(3, { each: true, migrated: false });

const previousMigrations = Object.fromEntries(
  Object.entries(MIGRATIONS).filter(([name]) => `${name}.ts` in MIGRATION_DIGESTS),
);
/** Of what its migrations made; the migrators' own tables are not theirs. */
const linesOf = (schema: string): readonly string[] =>
  schema
    .split('\n\n')
    .filter((part) => !part.startsWith('table migration'))
    .flatMap((part) => {
      const [heading = '', ...lines] = part.trimEnd().split('\n');
      return [heading, ...lines.map((line) => `${heading}:${line}`)];
    });

it('the schema of the previous release is extended by the migrations since, which take nothing from it', async () => {
  await migrateToLatest(pool, previousMigrations);
  expect(linesOf(await describeSchema(pool))).toEqual(linesOf(stored('schema.txt')));

  const added = await migrateToLatest(pool);
  const now = new Set(linesOf(await describeSchema(pool)));
  const missing = linesOf(stored('schema.txt')).filter(
    (line) => !now.has(line) && !CHANGED.some((changed) => line.endsWith(changed)),
  );
  expect(missing).toEqual([]);
  expect(await appliedMigrations(pool)).toEqual({
    confirmed: Object.keys(previousMigrations).sort(),
    unconfirmed: added,
  });
});

it('the schema of the previous release was made by migrations that are as they were', () => {
  const digests = JSON.parse(
    readFileSync(join(__dirname, '../../docs/generated/migrations.json'), 'utf8'),
  ) as unknown;
  expect(digests).toMatchObject(MIGRATION_DIGESTS);
});

describe('the read models of the previous release', () => {
  const projected = openForEach(() => ProjectedLedger.open(), 'close');

  it('stay live: those with other tables are left as they are, and this release builds its own', async () => {
    const { pool } = projected;
    const previous = READ_MODELS.flatMap(({ name, tables }): Projector[] => {
      const projector = accountProjectors.find((each) => each.name === name);
      return projector ? [{ ...projector, tables }] : [];
    });
    await inTransaction(pool, async (client) => {
      for (const projector of previous) await createGeneration(client, projector, 1, 'live');
    });
    const different = accountProjectors
      .filter(({ name, tables }) => {
        const before = previous.find((each) => each.name === name);
        return before && definitionOf(before) !== definitionOf({ tables });
      })
      .map(({ name }) => name);
    expect(await ensureOwnGenerations(pool, accountProjectors)).toEqual({
      added: different,
      renewed: [],
    });
    const acme = anAccount('acme');
    const runner = projected.startRunner();
    const position = await projected.ledger.happened(acme, accountOpened(acme));
    const names = accountProjectors.map(({ name }) => name);
    expect(await runner.waitFor(position, names, 20_000)).toBe(true);
    const { rows } = await pool.query<{ projection: string; untouched: boolean }>(
      `select projection, position is null as untouched from ledger.projection_generations
       join ledger.projection_checkpoints using (projection, generation)
       where state = 'live' and generation = 1 order by projection`,
    );
    expect(rows.filter(({ untouched }) => untouched).map(({ projection }) => projection)).toEqual(
      [...different].sort(),
    );
  });
});

it.each(Object.keys(SAMPLES))(
  'the events of the previous release %s has the same bytes in the samples that are decoded',
  (name) => {
    const sample = JSON.parse(
      readFileSync(join(__dirname, `../event-log/samples/${name}.json`), 'utf8'),
    ) as unknown;
    expect(sample).toMatchObject(SAMPLES[name] ?? { data: 'there is no sample' });
  },
);

it('the events of the previous release are those that this release writes, but for those that docs/runbooks/upgrade.md lists', () => {
  const added = Object.entries(CURRENT_VERSIONS)
    .map(([type, version]) => `${type}.v${version}`)
    .filter((name) => !(name in SAMPLES));
  const runbook = readFileSync(join(__dirname, '../../docs/runbooks/upgrade.md'), 'utf8');
  const listed = [...runbook.matchAll(/^- `(\w+)`, version (\d+)/gm)].map(
    ([, type, version]) => `${type}.v${version}`,
  );
  expect(listed.sort()).toEqual(added.sort());
});
