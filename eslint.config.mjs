import { defineConfig, globalIgnores } from 'eslint/config';
import tseslint from 'typescript-eslint';
import { outsideNames } from './scripts/lint-rules.mjs';

const tests = ['test/**/*.ts'];
const operatorFacing = [
  'bench/**/*.ts',
  'tools/**/*.ts',
  'src/cli/**/*.ts',
  'scripts/**/*.mjs',
  'test/support/embedded.ts',
];

/** What is kept out by its name, each with the reason that the linter prints. */
const restrictedImports = {
  paths: [
    {
      name: '@nestjs/cqrs',
      importNames: [
        'AggregateRoot',
        'EventBus',
        'EventPublisher',
        'EventsHandler',
        'IEventBus',
        'IEventHandler',
        'ICommandPublisher',
        'Saga',
        'ofType',
      ],
      message:
        'It lives in memory and loses failures. Facts go through the log; what reacts to them is a policy (docs/adr/0001).',
    },
    {
      name: '@nestjs/schedule',
      message: 'A timer in a process loses what it holds. Use a job (docs/adr/0120).',
    },
    { name: 'typeorm', message: 'SQL goes through Kysely or pg.' },
    {
      name: 'assert',
      message:
        'Import node:assert/strict in tests; elsewhere throw an error that says what is wrong.',
    },
    {
      name: 'uuid',
      message:
        'node:crypto has randomUUID; ids that must come out the same again are made in src/command-handling/deterministic-id.ts.',
    },
  ],
  patterns: [
    { regex: '^\\.{1,2}/(.*/)?dist/', message: 'dist/ is made from the sources: import those.' },
  ],
};

/** Time, waiting and chance, which deciding code takes from one module. */
const fromWorld = 'Time, waiting and chance come from src/foundation/world.ts.';
const ofTheRealWorld = {
  globals: ['setTimeout', 'setInterval', 'setImmediate', 'performance', 'crypto'].map((name) => ({
    name,
    message: fromWorld,
  })),
  properties: [
    { object: 'Date', property: 'now', message: fromWorld },
    { object: 'Math', property: 'random', message: fromWorld },
    { object: 'process', property: 'hrtime', message: fromWorld },
  ],
  imports: [
    {
      name: 'node:crypto',
      importNames: ['randomUUID', 'randomBytes', 'randomInt'],
      message: fromWorld,
    },
    { name: 'node:timers/promises', message: fromWorld },
  ],
};

const unsafeSql = [
  {
    selector: "MemberExpression[object.name='sql'][property.name=/^(raw|lit|literal)$/]",
    message:
      'Puts text into SQL unescaped. Use a parameter, or sql.id for a name from our own code.',
  },
  {
    selector:
      'CallExpression[callee.property.name=/^(key|at)$/][callee.object.callee.property.name=/^(ref|jsonPath|key|at)$/]',
    message:
      "Kysely's JSON paths (.key, .at) are not escaped. Use a parameter with ->> or jsonb_extract_path_text.",
  },
  {
    selector:
      "MemberExpression[property.name='dynamic'][object.name=/^(db|trx|transaction|kysely|eb)$/]",
    message:
      'Dynamic references take names that are not checked. List the allowed columns and choose among them.',
  },
];

const plainLiterals = [
  {
    selector:
      ':matches(SpreadElement > ObjectExpression.argument, ArrayExpression > SpreadElement > ArrayExpression.argument)',
    message: 'A literal spread into a literal only keeps members on a line: write the members.',
  },
];

const fewParameters = [
  {
    // Nest calls handlers and makes controllers: their parameters are what the decorators and the
    // types say.
    selector:
      ':matches(FunctionDeclaration, ArrowFunctionExpression, :not(MethodDefinition[kind="constructor"]) > FunctionExpression, TSMethodSignature, TSFunctionType)[params.length>4]:not([params.0.decorators.length>0])',
    message: 'At most four parameters: hand over together what belongs together.',
  },
  {
    selector:
      'ClassDeclaration:not([decorators.length>0]) MethodDefinition[kind="constructor"] > FunctionExpression[params.length>5]',
    message: 'At most five parameters: hand over together what belongs together.',
  },
];

const isResponse = (place) =>
  `[returnType.typeAnnotation.${place}typeName.name=/^(\\w+Response|Omit)$/]`;
const presenters = [
  {
    selector: `:matches(FunctionDeclaration[id.name=/Json$/], VariableDeclarator[id.name=/Json$/] > ArrowFunctionExpression):not(${isResponse('')}):not(${isResponse('types.0.')}):not(${isResponse('typeAnnotation.elementType.')})`,
    message:
      'A presenter declares that it returns a response class, of which /openapi.json is made: the compiler holds both together.',
  },
];

const houseNames = [
  {
    selector:
      ':matches(ClassDeclaration, TSInterfaceDeclaration, TSTypeAliasDeclaration)[id.name=/(Manager|Helpers?|Utils?|Common|Base|Impl)$/]',
    message: 'A name says what the thing does; this one could hold anything.',
  },
  {
    selector: 'TSInterfaceDeclaration[id.name=/^I[A-Z][a-z]/]',
    message: 'An interface is named like any other thing, without I.',
  },
  {
    selector: 'TSEnumDeclaration',
    message:
      'A union of literals reads the same in the log, in JSON and in code, and a switch over it is exhaustive too.',
  },
];

const ofSources = [...unsafeSql, ...houseNames, ...plainLiterals, ...fewParameters];

export default defineConfig(
  globalIgnores(['dist/', 'coverage/', '.cache/', '.data/', 'docs/generated/', 'packages/']),
  { linterOptions: { reportUnusedDisableDirectives: 'error' } },
  {
    // What the compiler does not see, for every file, scripts included.
    files: ['**/*.ts', '**/*.mjs', '**/*.cjs'],
    rules: {
      'array-callback-return': ['error', { allowImplicit: false }],
      // `== null` compares with null and undefined.
      eqeqeq: ['error', 'always', { null: 'ignore' }],
      'no-console': 'error',
      'no-constant-binary-expression': 'error',
      'no-control-regex': 'off',
      'no-debugger': 'error',
      'no-duplicate-imports': ['error', { allowSeparateTypeImports: true }],
      'no-empty': 'error',
      'no-fallthrough': 'error',
      'no-irregular-whitespace': 'error',
      'no-loss-of-precision': 'error',
      'no-misleading-character-class': 'error',
      'no-new-wrappers': 'error',
      'no-self-compare': 'error',
      'no-sparse-arrays': 'error',
      'no-template-curly-in-string': 'error',
      // The first of something that comes bit by bit is taken with a loop that returns.
      'no-unreachable-loop': ['error', { ignore: ['ForOfStatement'] }],
      'no-unsafe-finally': 'error',
      'no-unsafe-optional-chaining': 'error',
      'no-useless-assignment': 'error',
      'no-useless-rename': 'error',
      'no-var': 'error',
      'object-shorthand': 'error',
      'prefer-const': 'error',
      'preserve-caught-error': 'error',
      radix: 'error',
    },
  },
  {
    files: ['**/*.mjs', '**/*.cjs'],
    extends: [tseslint.configs.disableTypeChecked],
    languageOptions: { parser: tseslint.parser },
  },
  {
    files: ['**/*.ts'],
    extends: [tseslint.configs.strictTypeChecked],
    languageOptions: {
      parserOptions: { project: './tsconfig.test.json', tsconfigRootDir: import.meta.dirname },
    },
    rules: {
      '@typescript-eslint/consistent-type-imports': ['error', { fixStyle: 'inline-type-imports' }],
      '@typescript-eslint/consistent-type-exports': 'error',
      '@typescript-eslint/array-type': 'error',
      '@typescript-eslint/ban-tslint-comment': 'error',
      '@typescript-eslint/consistent-generic-constructors': 'error',
      // `return put(…)` ends a case of a switch in one line; a value that is used by mistake does
      // not compile.
      '@typescript-eslint/no-confusing-void-expression': 'off',
      // Nest's modules are classes without members.
      '@typescript-eslint/no-extraneous-class': ['error', { allowWithDecorator: true }],
      // Promises only: a reply of Fastify is a thenable, too, and is sent, not awaited.
      '@typescript-eslint/no-floating-promises': 'error',
      // A step of a shutdown may be asynchronous or not.
      '@typescript-eslint/no-invalid-void-type': 'off',
      // `void (await …)` says that a result is dropped on purpose.
      '@typescript-eslint/no-meaningless-void-operator': 'off',
      // A parameter that stands once still ties a tuple to the arguments of a function.
      '@typescript-eslint/no-unnecessary-type-parameters': 'off',
      // Text is measured in code points, as clients count it; a spread is how that is said.
      '@typescript-eslint/no-misused-spread': ['error', { allow: ['string'] }],
      // Believes that what was true before an `await` is true after it: a signal that aborted
      // meanwhile would count as useless to ask.
      '@typescript-eslint/no-unnecessary-condition': 'off',
      // Nest declares the shapes of its options as classes.
      '@typescript-eslint/no-unsafe-class-instance-assignment': 'off',
      // What was caught may be thrown again, whatever it is; only literals are never thrown.
      '@typescript-eslint/only-throw-error': 'off',
      'no-throw-literal': 'error',
      // Postgres' type ids are plain numbers; the driver declares some of them as an enum.
      '@typescript-eslint/no-unsafe-enum-assignment': 'off',
      // An async function without await turns what it throws into a rejection, which its interface
      // promises.
      '@typescript-eslint/require-await': 'off',
      '@typescript-eslint/prefer-includes': 'error',
      '@typescript-eslint/prefer-string-starts-ends-with': 'error',
      '@typescript-eslint/no-unused-vars': [
        'error',
        {
          args: 'all',
          argsIgnorePattern: '^_',
          varsIgnorePattern: '^_',
          caughtErrors: 'all',
          ignoreRestSiblings: true,
        },
      ],
      '@typescript-eslint/prefer-nullish-coalescing': [
        'error',
        { ignoreConditionalTests: true, ignorePrimitives: { string: true, boolean: true } },
      ],
      // Without a default: a new member of the union must be met by every switch that folds it.
      '@typescript-eslint/switch-exhaustiveness-check': [
        'error',
        {
          allowDefaultCaseForExhaustiveSwitch: false,
          considerDefaultExhaustiveForUnions: false,
          requireDefaultForNonUnion: true,
        },
      ],
      '@typescript-eslint/restrict-template-expressions': [
        'error',
        { allowNumber: true, allowBoolean: true },
      ],
      '@typescript-eslint/return-await': ['error', 'error-handling-correctness-only'],
      'no-restricted-exports': [
        'error',
        {
          restrictDefaultExports: {
            direct: true,
            named: true,
            defaultFrom: true,
            namedFrom: true,
            namespaceFrom: true,
          },
        },
      ],
      'no-restricted-imports': ['error', restrictedImports],
      'no-restricted-syntax': ['error', ...ofSources],
      'max-lines-per-function': ['error', { max: 60, skipBlankLines: true, skipComments: true }],
      'max-len': [
        'error',
        {
          code: 100,
          ignoreStrings: true,
          ignoreTemplateLiterals: true,
          ignoreRegExpLiterals: true,
          ignoreUrls: true,
        },
      ],
    },
  },
  {
    files: ['src/**/*.ts', 'projections/**/*.ts', 'simulator/**/*.ts'],
    plugins: { 'outside-names': outsideNames },
    rules: { 'outside-names/no-losing-calls': 'error' },
  },
  {
    // The names of units, programs, fields and events are those of tenants.
    files: [
      'src/domain/**/*.ts',
      'src/http/{users,rewards,referrals,share-links}/**/*.ts',
      'src/{bookkeeping,webhooks}/**/*.ts',
      'src/cli/tenant-document.ts',
      'projections/**/*.ts',
    ],
    ignores: ['src/domain/own-member.ts'],
    rules: { 'outside-names/no-inherited-members': 'error' },
  },
  {
    // What decides runs in the simulator's world as well (docs/adr/0033).
    files: [
      'src/domain/**/*.ts',
      'src/command-handling/**/*.ts',
      'src/idempotency/**/*.ts',
      'src/{policies,reacting,tenants,work-queue}/**/*.ts',
      'src/http/writing/**/*.ts',
      'src/privacy/{subject-keys,sealed-values,erasure-replay}.ts',
      'src/following/*.ts',
      'src/projecting/following/{projection-handler,projections,projection-track}.ts',
      'src/webhooks/deliveries/webhook-follower.ts',
      'src/mails/mail-plans.ts',
      'src/mails/content/addressed-mails.ts',
      'src/mails/deliveries/*.ts',
      'src/event-log/*.ts',
      'src/foundation/**/*.ts',
    ],
    ignores: ['src/foundation/world.ts', 'src/work-queue/{jobs,queue-pool,stranded-jobs}.ts'],
    rules: {
      'no-restricted-globals': ['error', ...ofTheRealWorld.globals],
      'no-restricted-properties': ['error', ...ofTheRealWorld.properties],
      'no-restricted-imports': [
        'error',
        { ...restrictedImports, paths: [...restrictedImports.paths, ...ofTheRealWorld.imports] },
      ],
    },
  },
  {
    // A projector, a policy or an operator's command looks at the few members that it names; the
    // others belong to another object.
    files: [
      'projections/**/*.ts',
      'src/{policies,reacting,work-queue}/**/*.ts',
      'src/webhooks/**/*.ts',
      'src/operations/**/*.ts',
      'src/cli/**/*.ts',
      'src/http/operations/**/*.ts',
      'simulator/**/*.ts',
    ],
    rules: {
      '@typescript-eslint/switch-exhaustiveness-check': [
        'error',
        { considerDefaultExhaustiveForUnions: true, requireDefaultForNonUnion: true },
      ],
    },
  },
  {
    // A test reaches into shapes that the compiler cannot know (parsed answers), and names what it
    // expects.
    files: tests,
    rules: {
      'no-restricted-syntax': ['error', ...unsafeSql, ...houseNames, ...plainLiterals],
      'max-lines-per-function': 'off',
      '@typescript-eslint/no-non-null-assertion': 'off',
      '@typescript-eslint/no-unsafe-assignment': 'off',
      '@typescript-eslint/unbound-method': 'off',
      'no-template-curly-in-string': 'off',
    },
  },
  {
    // Response classes describe JSON for /openapi.json. No instance is made of one.
    files: ['src/{console,http,presenting}/**/*.ts'],
    rules: { '@typescript-eslint/no-misused-spread': 'off' },
  },
  {
    files: ['src/{http,presenting}/**/*.ts'],
    ignores: ['src/http/{edge,shapes,writing}/**'],
    rules: { 'no-restricted-syntax': ['error', ...ofSources, ...presenters] },
  },
  { files: operatorFacing, rules: { 'no-console': 'off' } },
  {
    // Frozen as they are; lists of options; programs that are run from the top to the bottom.
    files: ['migrations/**/*.ts', 'src/cli/*-cli.ts', 'bench/**/*.ts', 'tools/**/*.ts'],
    rules: { 'max-lines-per-function': 'off' },
  },
  { files: ['migrations/**/*.ts', '**/*.mjs', '**/*.cjs'], rules: { 'max-len': 'off' } },
  // Prettier, eslint and jest read a default export.
  { files: ['**/*.mjs', '**/*.cjs'], rules: { 'no-restricted-exports': 'off' } },
);
