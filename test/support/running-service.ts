import { randomBytes } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { OpenAPIObject } from '@nestjs/swagger';
import { pino } from 'pino';
import { loadConfig } from '../../src/config/config.js';
import { newOperatorKey, type OperatorRole } from '../../src/config/operators.js';
import { DEFAULT_PROGRAM } from '../../src/domain/tenant/program-document.js';
import type {
  ProgramDocument,
  ProgramType,
  TenantCommand,
} from '../../src/domain/tenant/tenant.decider.js';
import type { Position } from '../../src/event-log/event-log.js';
import { startService, type Service } from '../../src/process/service.js';
import { OpenApiValidator, type ReceivedAnswer } from '../harness/openapi-validator.js';
import { startServiceProcess } from '../harness/service-process.js';
import { ApiClient, type Answer } from './api-client.js';
import { createTestDatabase } from './database.js';
import { errorBody } from './error-body.js';
import { openForEach, openOnce } from './opened.js';
import { openCoreOn } from '../harness/open-core-on.js';

export { errorBody };

/** Part of everything that `personal` makes, and of nothing that a service has reason to log. */
const MARK = 'qzx';

/** What the test files of a worker share: the modules of `test/` are new for each file. */
const worker = globalThis as {
  /** Words and aliases that were made. */
  namesMade?: number;
  openApiValidators?: Map<string, OpenApiValidator>;
  sharedService?: StartedForAll;
};

const nextName = (): number => (worker.namesMade = (worker.namesMade ?? 0) + 1);

/** A word of at most 15 letters and digits that no other test uses. */
export const personal = (word = ''): string => `${MARK}${word}${nextName()}`.slice(0, 15);

export interface TestTenant {
  readonly alias: string;
  readonly live: ApiClient;
  readonly test: ApiClient;
  readonly liveKey: string;
  readonly testKey: string;
  readonly liveSecret: string;
  readonly testSecret: string;
  /** In live mode. */
  readonly scope: { readonly tenant: string; readonly mode: 'live' };
}

type WithoutTime<C> = C extends unknown ? Omit<C, 'now'> : never;

export interface TenantOptions {
  readonly alias?: string;
  readonly programType?: ProgramType;
  readonly openEndpoints?: boolean;
  readonly program?: ProgramDocument;
}

/** One validator for all test files of a worker: compiling its schemas takes seconds. */
async function validatorOf(
  described: string,
  description: () => Promise<OpenAPIObject>,
): Promise<OpenApiValidator> {
  const validators = (worker.openApiValidators ??= new Map<string, OpenApiValidator>());
  const found = validators.get(described) ?? new OpenApiValidator(await description());
  validators.set(described, found);
  return found;
}

/** A database and a master key, which several services may share. */
export interface TestStores {
  readonly databaseUrl: string;
  readonly masterKeyFile: string;
  /** Of no operators, until `makeOperators` writes it. */
  readonly operatorsFile: string;
  remove(): Promise<void>;
}

export async function createStores(): Promise<TestStores> {
  const database = await createTestDatabase();
  const folder = await mkdtemp(join(tmpdir(), 'ledger-http-'));
  const masterKeyFile = join(folder, 'master.key');
  await writeFile(masterKeyFile, randomBytes(32).toString('hex'), { mode: 0o600 });
  const operatorsFile = join(folder, 'operators.json');
  await writeFile(operatorsFile, '[]');
  const remove = async (): Promise<void> => {
    await database.drop();
    await rm(folder, { recursive: true, force: true });
  };
  return { databaseUrl: database.url, masterKeyFile, operatorsFile, remove };
}

/** Writes the file of operators. @returns their keys. */
export async function makeOperators<N extends string>(
  { operatorsFile }: TestStores,
  roles: Readonly<Record<N, readonly OperatorRole[]>>,
): Promise<Readonly<Record<N, string>>> {
  const made = Object.entries<readonly OperatorRole[]>(roles).map(
    ([name, held]) => [name, newOperatorKey(name, held)] as const,
  );
  const entries = made.map(([, { entry }]) => entry);
  await writeFile(operatorsFile, JSON.stringify(entries), { mode: 0o600 });
  return Object.fromEntries(made.map(([name, { key }]) => [name, key])) as Record<N, string>;
}

/** True where the file runs against dist/ (the project `compiled` of jest). */
export const isCompiled = Reflect.get(globalThis, 'TEST_TARGET') === 'dist';

type Environment = Readonly<Record<string, string>>;

async function startHere(
  environment: Environment,
  write: (line: string) => void,
): Promise<Service> {
  return startService({
    config: loadConfig(environment),
    logger: pino({ level: 'trace' }, { write }),
    version: '0.0.0',
  });
}

function unreachable(part: string): never {
  throw new Error(`the ${part} of the compiled service cannot be reached from outside`);
}

/**
 * `node dist/bin/main.js` as it was built last, and next to it what the tests need of a core: a
 * further process on the same stores, as the command line is.
 */
async function startCompiled(
  environment: Environment,
  write: (line: string) => void,
): Promise<Service> {
  const { PORT: _, ...env } = environment;
  const served = await startServiceProcess({
    env: { ...env, LOG_LEVEL: 'trace' },
    onOutput: write,
  });
  try {
    await served.ready();
    const core = await openCoreOn(environment);
    const stop = async (): Promise<void> => {
      await core.close();
      const code = await served.terminate();
      if (code !== 0) throw new Error(`the service ended with ${code}`);
    };
    return {
      core,
      url: served.url,
      stop,
      get app() {
        return unreachable('application');
      },
      get follower() {
        return unreachable('follower');
      },
      get policies() {
        return unreachable('policies');
      },
    };
  } catch (error) {
    await served.kill();
    throw error;
  }
}

function startLogging(
  stores: TestStores,
  environment: Environment,
  lines: string[],
): Promise<Service> {
  const settings = {
    DATABASE_URL: stores.databaseUrl,
    MASTER_KEY_FILE: stores.masterKeyFile,
    OPERATORS_FILE: stores.operatorsFile,
    PORT: '0',
    DATABASE_CONNECTIONS_MAX: '23',
    // Tests of refusals refuse more in a minute than a client may.
    FAILED_CREDENTIALS_PER_MINUTE: '100000',
    POSITION_WAIT_MS: '20000',
    OWN_WRITES_WAIT_MS: '20000',
    SHUTDOWN_GRACE_MS: '2000',
    PUBLIC_URL: 'https://share.example',
    ...environment,
  };
  return (isCompiled ? startCompiled : startHere)(settings, (text) => void lines.push(text));
}

/** The service on a port of its own. Its answers are checked against its API description. */
export class RunningService {
  private readonly lines: string[] = [];
  private readonly secrets = new Set<string>();

  private constructor(
    readonly service: Service,
    readonly origin: string,
    readonly validator: OpenApiValidator,
    lines: string[],
  ) {
    this.lines = lines;
  }

  get description(): OpenAPIObject {
    return this.validator.document;
  }

  /** `environment` comes on top of what the stores say. */
  static async start(
    stores: TestStores,
    environment: Readonly<Record<string, string>> = {},
  ): Promise<RunningService> {
    const lines: string[] = [];
    return RunningService.of(await startLogging(stores, environment, lines), lines);
  }

  static async of(service: Service, lines: string[]): Promise<RunningService> {
    const validator = await validatorOf(isCompiled ? 'dist/bin' : 'dist/src', async () => {
      const response = await fetch(`${service.url}/openapi.json`);
      return (await response.json()) as OpenAPIObject;
    });
    return new RunningService(service, service.url, validator, lines);
  }

  /** What was logged so far, every level. */
  get logText(): string {
    return this.lines.join('');
  }

  readonly check = (answer: ReceivedAnswer): void => this.validator.check(answer);

  client(alias: string, credentials: string | undefined): ApiClient {
    return new ApiClient(this.origin, alias, credentials, this.check);
  }

  operator(key: string): ApiClient {
    return new ApiClient(this.origin, '', `:${key}`, this.check);
  }

  async createTenant(options: TenantOptions = {}): Promise<TestTenant> {
    const alias = options.alias ?? `tenant-${nextName()}`;
    const { programType = 'API_ONLY', openEndpoints = true, program = DEFAULT_PROGRAM } = options;
    const created = await this.service.core.tenantCommands.create({
      alias,
      programType,
      openEndpoints,
      program,
    });
    if ('refused' in created) throw new Error(created.refused);
    const { liveApiKey: liveKey, testApiKey: testKey } = created;
    for (const secret of [liveKey, testKey, created.liveSigningSecret, created.testSigningSecret])
      this.secrets.add(secret);
    return {
      alias,
      live: this.client(alias, `:${liveKey}`),
      test: this.client(alias, `:${testKey}`),
      liveKey,
      testKey,
      liveSecret: created.liveSigningSecret,
      testSecret: created.testSigningSecret,
      scope: { tenant: alias, mode: 'live' },
    };
  }

  /** Executes a command about a tenant, as of now. */
  async change(alias: string, command: WithoutTime<TenantCommand>): Promise<void> {
    const change = { ...command, now: Date.now() };
    const changed = await this.service.core.tenantCommands.execute(alias, change);
    if ('refused' in changed) throw new Error(changed.refused);
  }

  applyProgram(alias: string, program: ProgramDocument): Promise<void> {
    return this.change(alias, { type: 'ApplyProgram', program });
  }

  /** Number of events of a tenant: other files share the service and record at any time. */
  async eventsOf({ alias }: Pick<TestTenant, 'alias'>): Promise<number> {
    const { rows } = await this.service.core.pool.query<{ count: string }>(
      `select count(*) from ledger.events where strpos(stream, '.' || $1 || '.') > 0`,
      [alias],
    );
    return Number(rows[0]?.count);
  }

  async head(): Promise<Position | undefined> {
    return this.service.core.log.head();
  }

  /** Log lines that name a person, an id, a code, a key, an idempotency key. There must be none. */
  indiscretions(): readonly string[] {
    // Of another process the log comes in pieces that are no lines.
    const lines = this.logText.split('\n');
    return lines.filter(
      (line) =>
        line.toLowerCase().includes(MARK) ||
        [...this.secrets].some((secret) => line.includes(secret)),
    );
  }

  /** Stops it. @throws when its log is not discreet. */
  async stop(): Promise<void> {
    await this.service.stop();
    this.checkLog();
  }

  /** @throws when the log is not discreet. */
  checkLog(): void {
    const [line] = this.indiscretions();
    if (line !== undefined) throw new Error(`the log holds what belongs to a client: ${line}`);
  }
}

export interface ServiceWithStores {
  readonly service: RunningService;
  readonly stores: TestStores;
  end(): Promise<void>;
}

/** Stores and one service on them, for a whole test file. */
export async function startWithStores(
  environment: Readonly<Record<string, string>> = {},
): Promise<ServiceWithStores> {
  const stores = await createStores();
  const service = await RunningService.start(stores, environment);
  const end = async (): Promise<void> => {
    try {
      await service.stop();
    } finally {
      await stores.remove();
    }
  };
  return { service, stores, end };
}

/**
 * What the files of a worker share: plain values and the service, of no module of `test/`, as each
 * file has its own. `jest-environment.cjs` ends it.
 */
interface StartedForAll {
  readonly service: Service;
  readonly stores: TestStores;
  readonly lines: string[];
  end(): Promise<void>;
}

async function startForAll(): Promise<StartedForAll> {
  const stores = await createStores();
  const lines: string[] = [];
  const environment = {
    // Of all files together: they send from one address.
    FAILED_CREDENTIALS_PER_MINUTE: '1000000',
    TRUSTED_PROXIES: '127.0.0.0/8',
    WEBHOOK_ALLOW_CIDRS: '127.0.0.0/8',
  };
  const service = await startLogging(stores, environment, lines);
  const end = async (): Promise<void> => {
    await service.stop();
    await stores.remove();
  };
  return { service, stores, lines, end };
}

/**
 * The worker's service, for files that neither configure it nor move its clock. Its operators are
 * those that the file writes into `stores.operatorsFile`.
 */
export async function shareService(): Promise<ServiceWithStores> {
  const started = (worker.sharedService ??= await startForAll());
  const { service: shared, stores, lines } = started;
  lines.length = 0;
  const service = await RunningService.of(shared, lines);
  const end = async (): Promise<void> => {
    // The reactions of a compiled service cannot be awaited from here.
    if (!isCompiled) await settled(shared);
    service.checkLog();
  };
  return { service, stores, end };
}

/** The service of a file, from its beginning to its end. */
function forFile(start: () => Promise<ServiceWithStores>): Omit<ServiceWithStores, 'end'> {
  const running = openOnce(start, 'end');
  return { service: openOnce(() => running.service), stores: openOnce(() => running.stores) };
}

export const useSharedService = () => forFile(shareService);
/** @param environment is asked for when all that was opened earlier is there. */
export const useService = (environment: () => Environment = () => ({})) =>
  forFile(() => startWithStores(environment()));

/** A tenant for the tests of a file, or one for each. */
export const useTenant = (
  { service }: Pick<ServiceWithStores, 'service'>,
  { each = false, ...options }: TenantOptions & { readonly each?: boolean } = {},
): TestTenant => (each ? openForEach : openOnce)(() => service.createTenant(options));

/** Waits until the policies have reacted to all that is recorded, their own events included. */
export async function settled({ core, policies }: Service): Promise<void> {
  for (;;) {
    const head = await core.log.head();
    if (head === undefined) return;
    await policies.waitFor(head, 20_000);
    if ((await core.log.head()) === head) return;
  }
}

/** Status and body of an answer, to be compared with `refusal`. */
export const outcome = ({ status, body }: Answer<unknown>) => ({ status, body });

export const refusal = (status: number, apiErrorCode: string, rsCode: string | null = null) => ({
  status,
  body: errorBody(status, apiErrorCode, rsCode),
});

export const expectAnswer = (answer: Answer<unknown>, status: number, body: unknown): void =>
  expect(outcome(answer)).toStrictEqual({ status, body });

export const expectRefusal = (
  answer: Answer<unknown>,
  ...refused: Parameters<typeof refusal>
): void => expect(outcome(answer)).toStrictEqual(refusal(...refused));
