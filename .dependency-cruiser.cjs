/**
 * Who may know whom. A rule that stands in the way is changed here, with its reason, and not worked
 * around; the picture that these rules keep true is in docs/ARCHITECTURE.md. Types count as
 * imports: what only a type ties together is tied together all the same.
 */

/**
 * Where adapters are chosen and everything is wired together: the only places that know all
 * folders.
 */
const composition = ['^src/(process|core|cli)/', '^src/operations/log/log-address\\.ts$'];
/** Where requests enter. */
const waysIn = ['http', 'operations', 'cli'];
/** The rooms around the ledger: what it consists of imports none of them. */
const outerRooms = [...waysIn, 'policies', 'webhooks', 'exports', 'themes', 'mails', 'payments'];
const folder = (...names) => `^src/(${names.join('|')})/`;
const library = (...names) => names.map((name) => `(^|/)node_modules/${name}/`);

/** @type {import('dependency-cruiser').IConfiguration} */
module.exports = {
  forbidden: [
    {
      name: 'domain-is-pure',
      comment:
        'A decision must come out the same in ten years, in a test and in a replay. So the domain imports itself and the persistent maps of ' +
        '`immutable`, nothing that has a clock, a file, a socket or a framework; time, ids and terms come in with the command.',
      severity: 'error',
      from: { path: '^src/domain/' },
      to: { pathNot: ['^src/domain/', ...library('immutable')] },
    },
    {
      name: 'projectors-know-facts-only',
      comment:
        'A projector is run again from the first event beside the live one. It may know the facts, the contract of projecting and its own tables; ' +
        'anything else (a query, a driver, a clock) could make the second run differ. Only queries.ts reads.',
      severity: 'error',
      from: { path: '^projections/', pathNot: '/queries\\.ts$' },
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
      name: 'read-models-know-no-way-in',
      comment:
        'Read models follow the log. One that sends a command or answers HTTP itself would do so again at every rebuild, and a decision that ' +
        'waits for a read model would be a decision on old facts.',
      severity: 'error',
      from: { path: ['^projections/', '^src/projecting/'] },
      to: {
        path: folder(...outerRooms, 'command-handling'),
      },
    },
    {
      name: 'decisions-read-no-read-model',
      comment:
        'What a command may do is decided on the folded stream alone. A read model is late by nature: a balance read there can be spent twice.',
      severity: 'error',
      from: { path: '^src/command-handling/' },
      to: {
        path: ['^projections/', folder(...outerRooms, 'projecting')],
      },
    },
    {
      name: 'policies-know-no-http',
      comment:
        'A policy answers to facts, whoever caused them: a request, a job, an operator. It sends commands through the same door as everybody ' +
        'and must work in a process without an HTTP server.',
      severity: 'error',
      from: { path: '^src/policies/' },
      to: { path: folder(...waysIn) },
    },
    {
      name: 'the-log-stands-below',
      comment:
        'The log stores and gives back; it does not know who decides and who reads. Only so can another adapter take its place and one ' +
        'contract suite hold all of them.',
      severity: 'error',
      from: { path: '^src/event-log/' },
      to: {
        path: ['^projections/', folder(...outerRooms, 'command-handling', 'projecting')],
      },
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
      name: 'ground-stands-below',
      comment:
        'Connections to Postgres, and keys and names of people, are used from everywhere. What they imported in turn could not be started or ' +
        'tested without them any more.',
      severity: 'error',
      from: { path: folder('postgres', 'embedded-postgres', 'privacy', 'foundation') },
      to: {
        path: ['^projections/', folder(...outerRooms, 'command-handling')],
      },
    },
    {
      name: 'http-has-no-database',
      comment:
        'A controller parses, sends a command or asks a query, and maps the answer. SQL there would be a second way in or a read that no ' +
        'projection keeps. Counted calls are the exception: that table belongs to HTTP itself; and the pool ' +
        'of the operations is handed through.',
      severity: 'error',
      from: {
        path: '^src/http/',
        pathNot: '^src/http/(limits/rate-limits|operations/operations-core)\\.ts$',
      },
      to: { path: library('pg', '@types/pg', 'kysely', 'pg-query-stream') },
    },
    {
      name: 'the-edge-knows-no-resource',
      comment:
        'Sockets, bodies, errors and log lines are the same for every route. What the edge must know of a route comes with its access rule; what ' +
        'it must check comes as a function.',
      severity: 'error',
      from: { path: '^src/http/edge/' },
      to: { path: '^src/http/(?!edge/)', reachable: true },
    },
    {
      name: 'credentials-know-no-resource',
      comment:
        'Who calls is decided before anything of a resource is read. Shapes say what an id is; they know no resource either.',
      severity: 'error',
      from: { path: '^src/http/credentials/' },
      to: {
        path: '^src/http/(?!(edge|credentials)/|shapes/(parameters|request-shape)\\.ts)',
        reachable: true,
      },
    },
    {
      name: 'limits-know-no-resource',
      comment: 'A limit counts calls and clients, whatever they are about.',
      severity: 'error',
      from: { path: '^src/http/limits/' },
      to: {
        path: '^src/http/(?!(edge|credentials|limits)/|shapes/(parameters|request-shape)\\.ts)',
        reachable: true,
      },
    },
    {
      name: 'presenting-knows-no-way-in',
      comment:
        'Clients and receivers of webhooks see users, rewards and referrals alike. Webhooks are sent where no HTTP server runs.',
      severity: 'error',
      from: { path: '^src/presenting/' },
      to: { path: '^src/(http|cli|operations|process)/', reachable: true },
    },
    {
      name: 'only-ways-in-know-http',
      comment:
        'The ledger, its followers and its deliveries run without HTTP. The command line reads tokens by the shapes of HTTP.',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/(http|process|cli)/' },
      to: { path: '^src/http/', reachable: true },
    },
    {
      name: 'validation-at-the-edge',
      comment:
        'class-validator checks what came over the wire, once, where it came in. Behind that the types hold; checking again elsewhere means ' +
        'that nobody knows which check counts.',
      severity: 'error',
      from: { pathNot: ['^src/http/', '^test/'] },
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
          '^src/(http|presenting)/',
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
        'The CommandBus is the one door for every change of a ledger, from requests, policies and operators alike. Whoever appended through ' +
        'the streams of command handling would pass it by, and a second bus would be a second door; src/core opens the one there is.',
      severity: 'error',
      from: { path: ['^src/', '^projections/'], pathNot: '^src/(command-handling|core)/' },
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
        'A migration is frozen once merged, so nothing that it uses may change under it: it imports the query builder and no code of ours.',
      severity: 'error',
      from: { path: '^migrations/' },
      to: { pathNot: library('kysely') },
    },
    {
      name: 'nobody-imports-the-composition',
      comment:
        'Code that reaches back into the place where it is wired together cannot be wired any other way.',
      severity: 'error',
      from: { path: ['^src/', '^projections/', '^migrations/'], pathNot: '^src/(process|cli)/' },
      to: { path: '^src/(process|cli)/' },
    },
    {
      name: 'processes-and-commands-start-apart',
      comment:
        'The service starts without the command line, and a command without the service: it would load the framework with it.',
      severity: 'error',
      from: { path: '^src/cli/' },
      to: { path: '^src/process/' },
    },
    {
      name: 'operations-know-no-way-in',
      comment:
        'What an operator asks for is a function of the stores and the request. The command line and HTTP call it and say its answer in their own words.',
      severity: 'error',
      from: { path: '^src/operations/' },
      to: {
        path: ['^src/(http|cli|process)/', ...library('commander', 'fastify', '@nestjs/[^/]+')],
      },
    },
    {
      name: 'kept-answers-know-no-way-in',
      comment:
        'The command line keeps the answers of its keys as HTTP does. Each says in its own words that a key is refused.',
      severity: 'error',
      from: { path: '^src/kept-answers/' },
      to: {
        path: ['^projections/', folder(...outerRooms, 'process', 'projecting')],
      },
    },
    {
      name: 'operations-are-asked-for',
      comment:
        'What operators ask for is asked for over HTTP, in the console or on the command line. A decision or a reaction that needs it has the wrong owner.',
      severity: 'error',
      from: {
        path: '^src/',
        pathNot: '^src/(operations|cli|http/operations|http/console|process)/',
      },
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
      name: 'seals-stand-beside-the-log',
      comment:
        'The chain proves what is in the log. It must hold for whoever reads the log, also where nothing else of the service runs.',
      severity: 'error',
      from: { path: '^src/chain/' },
      to: {
        path: ['^projections/', folder(...outerRooms, 'command-handling', 'projecting', 'process')],
      },
    },
    {
      name: 'core-opens-stores-only',
      comment:
        'The core is what the service, the command line and tests stand on: it opens the stores and the bus, ' +
        'and knows nobody who asks something of them.',
      severity: 'error',
      from: { path: '^src/core/' },
      to: { path: folder(...waysIn, 'process') },
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
      comment: 'A file that nobody imports and that imports nothing does nothing.',
      severity: 'error',
      from: { orphan: true, pathNot: '\\.d\\.ts$' },
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
