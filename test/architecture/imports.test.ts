import { execFile } from 'node:child_process';
import { copyFile, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { z } from 'zod';

/**
 * Whether each rule on imports (.dependency-cruiser.cjs) forbids what it names: a pattern with a
 * slip in it forbids nothing. `npm run architecture` holds the code to the rules.
 */
const root = join(__dirname, '..', '..');
const config = join(root, '.dependency-cruiser.cjs');

const Report = z.object({
  summary: z.object({
    violations: z.array(
      z.object({ from: z.string(), to: z.string(), rule: z.object({ name: z.string() }) }),
    ),
  }),
});

/** Runs dependency-cruiser in a process of its own: it is an ES module that loads more of them. */
async function cruise(
  cwd: string,
  folders: readonly string[],
): Promise<z.infer<typeof Report>['summary']> {
  const program = join(root, 'node_modules', 'dependency-cruiser', 'bin', 'dependency-cruise.mjs');
  const output = await new Promise<string>((resolve, reject) => {
    execFile(
      process.execPath,
      [program, '--config', config, '--output-type', 'json', ...folders],
      { cwd, maxBuffer: 256 * 1024 * 1024 },
      // Its exit code counts the violations; only an answer that is no report is a failure.
      (error, stdout, stderr) => {
        if (stdout.startsWith('{')) resolve(stdout);
        else reject(new Error(stderr || 'dependency-cruiser printed no report', { cause: error }));
      },
    );
  });
  return Report.parse(JSON.parse(output)).summary;
}

describe('rules on imports', () => {
  const offences: readonly (readonly [rule: string, file: string, imported: string])[] = [
    ['domain-is-pure', 'src/domain/account/a.ts', 'node:crypto'],
    ['domain-is-pure', 'src/domain/b.ts', 'src/foundation/error-code.ts'],
    ['domain-is-pure', 'src/domain/c.ts', 'zod'],
    ['projectors-know-facts-only', 'projections/things/projector.ts', 'pg'],
    ['projectors-know-facts-only', 'projections/things/table.ts', 'node:crypto'],
    [
      'read-models-send-no-commands',
      'projections/things/queries.ts',
      'src/command-handling/door.ts',
    ],
    ['imports-point-down', 'src/projecting/runner.ts', 'src/http/users/listing.ts'],
    ['imports-point-down', 'src/command-handling/door.ts', 'projections/things/queries.ts'],
    [
      'only-the-composition-knows-the-adapter',
      'src/policies/other.ts',
      'src/event-log/postgres/postgres-event-log.ts',
    ],
    ['http-has-no-database', 'src/http/users/answer.ts', 'pg'],
    ['imports-point-down', 'src/http/edge/paging.ts', 'src/http/users/listing.ts'],
    ['validation-at-the-edge', 'src/command-handling/checked.ts', 'class-validator'],
    ['framework-at-the-edge', 'src/projecting/injected.ts', '@nestjs/common'],
    ['changes-go-through-the-bus', 'src/policies/reacting.ts', 'src/command-handling/streams.ts'],
    ['changes-go-through-the-bus', 'src/cli/deciding.ts', 'src/command-handling/command-bus.ts'],
    ['changes-go-through-the-bus', 'src/http/sending.ts', '@nestjs/cqrs'],
    ['migrations-stand-alone', 'migrations/0001_create_things.ts', 'src/foundation/error-code.ts'],
    ['imports-point-down', 'src/operations/ledger/question.ts', 'src/http/users/listing.ts'],
    ['operations-know-no-way-in', 'src/operations/ledger/words.ts', 'commander'],
    ['operations-are-asked-for', 'src/http/users/asking.ts', 'src/operations/ledger/question.ts'],
    ['bookkeeping-is-pure', 'src/bookkeeping/sums.ts', 'src/postgres/pool.ts'],
    ['cli-has-no-database', 'src/cli/querying.ts', 'pg'],
    ['what-ships-knows-no-tests', 'src/exports/export.ts', 'test/support/thing.ts'],
    ['what-ships-is-declared', 'src/themes/theme.ts', 'fast-check'],
    ['no-unresolvable', 'src/lost.ts', 'src/nowhere.ts'],
    ['no-circular', 'src/ping.ts', 'src/pong.ts'],
    ['no-orphans', 'src/alone.ts', ''],
    // Only there to be imported. (A circle is reported once, at one of its files.)
    ['', 'src/pong.ts', 'src/ping.ts'],
    ['', 'src/command-handling/commands.ts', 'zod'],
    ['', 'src/command-handling/command-bus.ts', 'zod'],
    ['', 'src/command-handling/streams.ts', 'zod'],
    ['', 'src/foundation/error-code.ts', 'zod'],
    ['', 'src/postgres/pool.ts', 'pg'],
    ['', 'src/http/users/listing.ts', 'zod'],
    ['', 'src/process/main.ts', 'src/event-log/postgres/postgres-event-log.ts'],
    ['', 'src/event-log/postgres/postgres-event-log.ts', 'pg'],
    ['', 'test/support/thing.ts', 'pg'],
  ];
  let scratch: string;

  beforeAll(async () => {
    scratch = await mkdtemp(join(tmpdir(), 'imports-'));
    for (const name of ['node_modules', 'package.json', 'tsconfig.json'])
      await symlink(join(root, name), join(scratch, name));
    for (const [, file, imported] of offences) {
      await mkdir(join(scratch, dirname(file)), { recursive: true });
      const up = '../'.repeat(file.split('/').length - 1);
      const target = imported.endsWith('.ts')
        ? `./${up}${imported.replace(/\.ts$/, '.js')}`
        : imported;
      await writeFile(
        join(scratch, file),
        imported === '' ? 'export {};\n' : `import '${target}';\n`,
      );
    }
  });
  afterAll(() => rm(scratch, { recursive: true, force: true }));

  it('do not load while a folder has no layer', async () => {
    const copy = join(scratch, 'rules.cjs');
    await copyFile(config, copy);
    expect(() => createRequire(__filename)(copy) as unknown).toThrow(
      /without a layer: .*src\/lost\.ts.*without a folder: .*src\/templates/,
    );
  });

  it('each forbid what they name, and each is broken here once', async () => {
    const { violations } = await cruise(scratch, ['src', 'projections', 'migrations', 'test']);
    const found = new Set(violations.map(({ rule, from }) => `${rule.name}: ${from}`));
    const expected = offences
      .filter(([rule]) => rule !== '')
      .map(([rule, file]) => `${rule}: ${file}`);
    expect(expected.filter((offence) => !found.has(offence))).toEqual([]);

    const names = [...(await readFile(config, 'utf8')).matchAll(/^ +name: '([^']+)'/gm)].map(
      ([, name]) => name,
    );
    expect(new Set(offences.map(([rule]) => rule).filter((rule) => rule !== ''))).toEqual(
      new Set(names),
    );
  }, 60_000);
});
