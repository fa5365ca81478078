/**
 * Who may know whom. A rule that stands in the way is changed here, with its reason, and not worked
 * around; the picture that these rules keep true is in docs/ARCHITECTURE.md. Types count as
 * imports: what only a type ties together is tied together all the same.
 */

const { readdirSync } = require('node:fs');
const { join } = require('node:path');

/**
 * Where adapters are chosen and everything is wired together: the only places that know all
 * folders.
 */
const composition = ['^src/(process|stores|cli)/', '^src/operations/log/log-address\\.ts$'];
const library = (...names) => names.map((name) => `(^|/)node_modules/${name}/`);

/**
 * The layers of folders, the lowest first. A folder imports itself and folders of lower layers: it
 * reaches nothing else, through any number of files. Folders of one layer are independent.
 */
const layers = [
  ['migrations', 'src/domain', 'src/foundation', 'src/templates'],
  ['src/config', 'src/postgres'],
  ['src/embedded-postgres'],
  ['src/privacy'],
  ['src/event-log', 'src/runs'],
  ['src/following', 'src/tenants', 'src/work-queue'],
  // Decisions read no read model, which is late: a balance read there could be spent twice. Read
  // models send no command: they would send it again at every rebuild. Seals prove the log alone.
  ['src/bookkeeping', 'src/chain', 'src/command-handling', 'src/projecting'],
  ['projections', 'src/idempotency', 'src/themes'],
  // Webhooks are sent, and policies react, where no HTTP server runs.
  ['src/reacting', 'src/presenting'],
  ['src/policies'],
  ['src/exports', 'src/mails'],
  ['src/webhooks'],
  ['src/payments'],
  ['src/stores'],
  ['src/imports'],
  ['src/operations'],
  // A route is checked before its resource is known: who calls, how often, with which body.
  ['src/http/edge'],
  ['src/http/shapes'],
  ['src/http/credentials'],
  ['src/http/limits', 'src/http/writing'],
  [
    'src/http/exports',
    'src/http/health',
    'src/http/integrations',
    'src/http/reference',
    'src/http/referral-codes',
    'src/http/rewards',
    'src/http/start-page',
    'src/http/themes',
    'src/http/user-events',
    'src/http/webhooks',
  ],
  ['src/http/accounts', 'src/http/discounts', 'src/http/share-pages', 'src/http/users'],
  [
    'src/http/mails',
    'src/http/operations',
    'src/http/personal-data',
    'src/http/referrals',
    'src/http/share-links',
  ],
  ['src/console'],
  ['src/console', 'src/observability'],
  // The service starts without the command line, and a command without the service.
  ['src/cli', 'src/process'],
];

const inFolders = (folders) => folders.map((folder) => `^${folder}/`);

const importsPointDown = layers.flatMap((layer, level) =>
  layer.map((folder) => ({
    name: 'imports-point-down',
    comment:
      'A folder that imports a higher layer, or another folder of its layer, cannot be understood, started or tested without it. Move what both need ' +
      'to the lower folder, or pass it in.',
    severity: 'error',
    from: { path: `^${folder}/` },
    to: {
      path: '^(src|projections|migrations)/',
      pathNot: inFolders([folder, ...layers.slice(0, level).flat()]),
    },
  })),
);

/** Files directly in `src` and `src/http` included: each needs a folder. */
const found = [
  ...readdirSync(join(__dirname, 'src')).map((name) => `src/${name}`),
  ...readdirSync(join(__dirname, 'src', 'http')).map((name) => `src/http/${name}`),
  'projections',
  'migrations',
].filter((path) => path !== 'src/http');
const unlisted = found.filter((path) => !layers.flat().includes(path));
const absent = layers.flat().filter((path) => !found.includes(path));
if (unlisted.length + absent.length > 0)
  throw new Error(
    `.dependency-cruiser.cjs: without a layer: ${unlisted.join(', ') || '-'}; without a folder: ${absent.join(', ') || '-'}`,
  );

/** @type {import('dependency-cruiser').IConfiguration} */
module.exports = {
  forbidden: [
    ...importsPointDown,
    {
      name: 'domain-is-pure',
      comment:
        'A decision must come out the same in ten years, in a test and in a replay. So the domain imports itself and the persistent maps of ' +
        '`immutable` and `sorted-btree`, nothing that has a clock, a file, a socket or a framework; time, ids and terms come in with the command.',
      severity: 'error',
      from: { path: '^src/domain/' },
      to: { pathNot: ['^src/domain/', ...library('immutable'), ...library('sorted-btree')] },
    },
    {
      name: 'projectors-know-facts-only',
      comment:
        'A projector is run again from the first event next to the live one. It may know the facts, the contract of projecting and its own tables; ' +
        'anything else (a query, a driver, a clock) could make the second run differ. Only files of queries read.',
      severity: 'error',
      from: { path: '^projections/', pathNot: '[-/]queries\\.ts$' },
      to: {
        pathNot: [
          '^src/domain/',
          '^src/projecting/',
          '^src/event-log/event-log\\.ts$',
          '^projections/',
        ],
      },
    },
    {
      name: 'read-models-send-no-commands',
      comment:
        'Read models follow the log. One that sends a command would send it again at every rebuild.',
      severity: 'error',
      from: { path: '^projections/' },
      to: { path: '^src/command-handling/' },
    },
    {
      name: 'only-the-composition-knows-the-adapter',
      comment:
        'Everybody else speaks to the port (src/event-log/event-log.ts). A second place that knows which store runs is a place that ' +
        'breaks with the other one.',
      severity: 'error',
      from: {
        pathNot: ['^src/event-log/', '^bench/', '^simulator/', '^test/', '^tools/', ...composition],
      },
      to: { path: '^src/event-log/(postgres|eventstoredb)/' },
    },
    {
      name: 'http-has-no-database',
      comment:
        'A controller parses, sends a command or asks a query, and maps the answer. SQL there would be a second way in or a read that no ' +
        'projection keeps. Counted calls are the exception: that table belongs to HTTP itself; and the pool ' +
        'of the operations is handed through.',
      severity: 'error',
      from: {
        path: '^src/(console|http)/',
        pathNot: '^src/http/(limits/rate-limits|operations/operations-core)\\.ts$',
      },
      to: { path: library('pg', '@types/pg', 'kysely', 'pg-query-stream') },
    },
    {
      name: 'validation-at-the-edge',
      comment:
        'class-validator checks what came over the wire, once, where it came in. Behind that the types hold; checking again elsewhere means ' +
        'that it is unclear which check counts.',
      severity: 'error',
      from: { pathNot: ['^src/(console|http)/', '^test/'] },
      to: { path: library('class-validator', 'class-transformer') },
    },
    {
      name: 'framework-at-the-edge',
      comment:
        'Nest and Fastify are the shell. Decisions, log, projections and policies run without them: in a test, in a benchmark, in the command ' +
        'line. (@nestjs/cqrs gives command-handling its one door, the CommandBus. src/presenting describes what clients see, for /openapi.json.)',
      severity: 'error',
      from: {
        pathNot: [
          '^src/(console|http|presenting)/',
          '^test/',
          '^bench/',
          '^simulator/',
          '^tools/',
          ...composition,
        ],
      },
      to: {
        path: library(
          '@nestjs/(common|core|swagger|platform-fastify)',
          'fastify',
          '@fastify/[^/]+',
        ),
      },
    },
    {
      name: 'changes-go-through-the-bus',
      comment:
        'The CommandBus is the one door for every change of a ledger, from requests, policies and operators alike. Code that appended through ' +
        'the streams of command handling would pass it by, and a second bus would be a second door; src/stores opens the one there is.',
      severity: 'error',
      from: { path: ['^src/', '^projections/'], pathNot: '^src/(command-handling|stores)/' },
      to: {
        path: [
          '^src/command-handling/(streams|handle-command|command-handlers|command-bus)\\.ts$',
          ...library('@nestjs/cqrs'),
        ],
      },
    },
    {
      name: 'migrations-stand-alone',
      comment:
        'A migration is frozen once merged, so nothing that it uses may change under it: it imports the query builder and no code of this project.',
      severity: 'error',
      from: { path: '^migrations/' },
      to: { pathNot: library('kysely') },
    },
    {
      name: 'operations-know-no-way-in',
      comment:
        'What an operator asks for is a function of the stores and the request. The command line and HTTP call it and say its answer in their own words.',
      severity: 'error',
      from: { path: '^src/operations/' },
      to: { path: library('commander', 'fastify', '@nestjs/[^/]+') },
    },
    {
      name: 'operations-are-asked-for',
      comment:
        'What operators ask for is asked for over HTTP, in the console or on the command line. A resource of tenants that needs it has the wrong owner.',
      severity: 'error',
      from: { path: '^src/http/', pathNot: '^src/http/operations/' },
      to: { path: '^src/operations/' },
    },
    {
      name: 'bookkeeping-is-pure',
      comment:
        'Postings, statements and the roll-forward are arithmetic on facts: the same entries always give the same statement.',
      severity: 'error',
      from: { path: '^src/bookkeeping/' },
      to: {
        pathNot: [
          '^src/(bookkeeping|domain|foundation)/',
          '^src/event-log/[a-z-]+\\.ts$',
          ...library('immutable'),
        ],
      },
    },
    {
      name: 'cli-has-no-database',
      comment:
        'A command parses, calls an operation and prints. SQL there would be an operation that HTTP cannot call.',
      severity: 'error',
      from: { path: '^src/cli/' },
      to: { path: library('pg', '@types/pg', 'kysely', 'pg-query-stream') },
    },
    {
      name: 'what-ships-knows-no-tests',
      comment: 'Tests and benchmarks are not in the image.',
      severity: 'error',
      from: { path: ['^src/', '^projections/', '^migrations/'] },
      to: { path: ['^test/', '^bench/', '^simulator/', '^tools/'] },
    },
    {
      name: 'what-ships-is-declared',
      comment:
        'A library that is there only for development, or only because another one brought it, is missing after `npm ci --omit=dev`.',
      severity: 'error',
      from: { path: ['^src/', '^projections/', '^migrations/'] },
      to: {
        dependencyTypes: ['npm-dev', 'npm-no-pkg', 'npm-unknown'],
        // Types vanish when the service is compiled.
        dependencyTypesNot: ['type-only'],
        pathNot: library('@types/[^/]+'),
      },
    },
    {
      name: 'no-unresolvable',
      comment: 'An import that leads nowhere: a file was moved or a library is not installed.',
      severity: 'error',
      from: {},
      to: { couldNotResolve: true },
    },
    {
      name: 'no-circular',
      comment:
        'Two files that need each other are one file in two pieces, and which one runs first depends on who asked first.',
      severity: 'error',
      from: {},
      to: { circular: true },
    },
    {
      name: 'no-orphans',
      comment: 'A file without an importer and without imports does nothing.',
      severity: 'error',
      from: { orphan: true, pathNot: '\\.d\\.ts$|^src/console/assets/' },
      to: {},
    },
  ],
  options: {
    tsConfig: { fileName: 'tsconfig.json' },
    tsPreCompilationDeps: true,
    doNotFollow: { path: ['node_modules'] },
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'require', 'node', 'default', 'types'],
    },
  },
};
