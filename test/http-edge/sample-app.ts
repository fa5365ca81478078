import { Readable } from 'node:stream';
import {
  BadRequestException,
  Body,
  Controller,
  Delete,
  Get,
  HttpCode,
  Inject,
  Module,
  Param,
  Post,
  Put,
  Query,
  Res,
} from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { ApiCreatedResponse, ApiOkResponse } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import { pino } from 'pino';
import { NO_OPERATORS } from '../../src/config/operators.js';
import { evolve, initialState, type OpenTenant } from '../../src/domain/tenant/tenant.decider.js';
import { ApiError } from '../../src/http/edge/api-error.js';
import { Access, TENANT_PATH } from '../../src/http/edge/access.js';
import type { CallCounter } from '../../src/http/limits/call-limit.js';
import { Call } from '../../src/http/credentials/call.js';
import { Admission, type AdmissionParts } from '../../src/http/limits/admission.js';
import { FailedCredentials } from '../../src/http/limits/call-limit.js';
import { HttpEdge } from '../../src/http/edge/http-edge.js';
import type { HttpLimits } from '../../src/http/edge/http-limits.js';
import { serveConsole, type ConsoleGate } from '../../src/console/sessions/console-gate.js';
import { HealthController } from '../../src/http/health/health.controller.js';
import { READINESS_PROBE, type Readiness } from '../../src/http/health/readiness.js';
import {
  createMetricsRegistry,
  HttpMetrics,
  METRICS_REGISTRY,
  MetricsController,
} from '../../src/http/health/metrics.js';
import { serveReference } from '../../src/http/reference/reference-pages.js';
import { Fails } from '../../src/http/shapes/openapi.js';
import {
  dateFilter,
  identifier,
  page,
  referralCode,
  type Query as ParsedQuery,
} from '../../src/http/shapes/parameters.js';
import {
  ApiCreateRewardBody,
  CreateRewardPipe,
  rewardValueOf,
  type CreateRewardRequest,
} from '../../src/http/rewards/create-reward.request.js';
import { SyncAccountRequest } from '../../src/http/accounts/sync-account.request.js';
import { UserRequest } from '../../src/http/users/user.request.js';
import { AccountResponse } from '../../src/http/accounts/account.response.js';
import { DatabaseUnavailable, isUnavailable } from '../../src/postgres/database.js';
import { pageOfUnmatched } from '../../src/console/view/error-page.js';
import { refuseWhenStoresHang, type StoreChecks } from '../../src/http/writing/write-deadline.js';
import { completedError } from '../../src/http/writing/error-message.js';
import { RequestValidationPipe } from '../../src/http/shapes/validation.js';
import { isWriteToken } from '../../src/http/users/granted-fields.js';

/** What the sample's controllers and stores do, settable by a test. */
export class Sample {
  readonly entered: string[] = [];
  readiness: Readiness = { ready: true, checks: { postgres: { ok: true } } };
  /** Requests to `/slow`, and checks of readiness, wait for it. */
  gate: Promise<void> = Promise.resolve();

  async check(): Promise<Readiness> {
    this.enter('check');
    await this.gate;
    return this.readiness;
  }

  enter(name: string): void {
    this.entered.push(name);
  }

  /** Closes the gate. @returns what opens it. */
  close(): () => void {
    let open = (): void => undefined;
    this.gate = new Promise((resolve) => (open = resolve));
    return open;
  }
}

const SAMPLE = Symbol('sample');

@Controller(TENANT_PATH)
class SampleController {
  constructor(@Inject(SAMPLE) private readonly sample: Sample) {}

  @Get('account/:accountId')
  @Access('key', { apiOnlyPrograms: true })
  @ApiOkResponse({ type: AccountResponse })
  @Fails('ACCOUNT_NOT_FOUND')
  account(@Param('accountId') accountId: string) {
    if (accountId === 'missing') throw new ApiError('ACCOUNT_NOT_FOUND');
    return {
      id: identifier(accountId, 'accountId'),
      currency: 'USD',
      subscription: { status: 'TRIAL' },
      referral: null,
    };
  }

  @Get('account/:accountId/user/:userId')
  @Access('key')
  user(@Param('accountId') accountId: string, @Param('userId') userId: string) {
    return { accountId: identifier(accountId, 'accountId'), userId: identifier(userId, 'userId') };
  }

  @Delete('account/:accountId')
  @HttpCode(204)
  @Access('key')
  remove(): void {
    this.sample.enter('remove');
  }

  @Get('code/:code')
  @Access('key')
  code(@Param('code') code: string) {
    return { code: referralCode(code) };
  }

  @Get('whoami')
  @Access('key')
  whoAmI(@Call() { tenant, mode, scope, actor, token }: Call) {
    return { tenant: tenant.alias, mode, scope, actor, token };
  }

  @Get('open/whoami')
  @Access('public-open')
  whoAmIOpen(@Call() { tenant, mode, scope, actor, token }: Call) {
    return { tenant: tenant.alias, mode, scope, actor, token };
  }

  @Get('open/keyed')
  @Access('key-open')
  keyed(@Call() { tenant, mode, scope, actor, token }: Call) {
    return { tenant: tenant.alias, mode, scope, actor, token };
  }

  @Get('list')
  @Access('key')
  list(@Query() query: ParsedQuery) {
    return { ...page(query), date: dateFilter(query, 'date') ?? null };
  }

  @Post('echo')
  @HttpCode(200)
  @Access('key')
  echo(@Body() body: unknown) {
    this.sample.enter('echo');
    return { body: body ?? null };
  }

  @Post('accountsync')
  @HttpCode(200)
  @Access('key', { apiOnlyPrograms: true })
  sync(@Body() body: SyncAccountRequest) {
    return body;
  }

  @Put('open/account/:accountId/user/:userId')
  @Access('key-open')
  upsert(@Body() body: UserRequest) {
    return body;
  }

  @Post('rewards/account/:accountId/user/:userId')
  @Access('key')
  @ApiCreateRewardBody()
  @ApiCreatedResponse()
  reward(@Body(CreateRewardPipe) body: CreateRewardRequest) {
    return rewardValueOf(body);
  }

  @Post('reward/:id/cancel')
  @HttpCode(200)
  @Access('key', { emptyBody: true })
  cancel(@Param('id') id: string) {
    return { id };
  }

  @Get('slow')
  @Access('key')
  async slow() {
    this.sample.enter('slow');
    await this.sample.gate;
    return { slow: true };
  }

  /** Sends its first half immediately, and the second one after the gate. */
  @Get('stream')
  @Access('key', { streams: true })
  async stream(@Res() reply: FastifyReply) {
    const { sample } = this;
    async function* halves() {
      yield 'first ';
      await sample.gate;
      yield 'second';
    }
    await reply.send(Readable.from(halves()));
  }

  @Get('departure')
  @Access('key')
  async departure(@Call() { departure }: Call) {
    this.sample.enter('waiting for a departure');
    await new Promise((resolve) => departure().addEventListener('abort', resolve));
    this.sample.enter('departure');
    return {};
  }

  @Get('fail/:how')
  @Access('key')
  fail(@Param('how') how: string, @Res({ passthrough: true }) reply: FastifyReply) {
    void reply.header('Content-Type', 'text/plain');
    switch (how) {
      case 'away':
        throw new DatabaseUnavailable('connection to 10.0.0.1 refused');
      case 'nest':
        throw new BadRequestException('ann@example.com is not here');
      case 'string':
        // eslint-disable-next-line no-throw-literal -- what a careless library may do
        throw 'ann@example.com';
      default:
        throw new Error('secret ann@example.com');
    }
  }
}

function tenantOf(alias: string, given: Partial<OpenTenant> = {}): OpenTenant {
  const settings = { programType: 'API_ONLY', openEndpoints: true } as const;
  const created = { type: 'TenantCreated', alias, ...settings, at: 0 } as const;
  return { ...(evolve(initialState, created) as OpenTenant), ...given };
}

const TENANTS: Readonly<Record<string, OpenTenant>> = {
  acme: tenantOf('acme'),
  closed: tenantOf('closed', { openEndpoints: false }),
  payments: tenantOf('payments', { programType: 'PAYMENT_PROVIDER' }),
};

/** No caller is refused for calling often. */
const UNCOUNTED: CallCounter = {
  count: async () => ({ limit: 1, windowSeconds: 1, left: 1, resetSeconds: 1, isExceeded: false }),
  isKnown: async () => true,
};

/** Keys: `LIVE_<alias>` and `TEST_<alias>`. */
const DIRECTORY: AdmissionParts['tenants'] = {
  find: async (alias) => TENANTS[alias],
  authenticate: async (alias, key) => {
    if (key === `LIVE_${alias}`) return { mode: 'live', keyId: `key-live-${alias}` };
    if (key === `TEST_${alias}`) return { mode: 'test', keyId: `key-test-${alias}` };
    return undefined;
  },
};

const ANSWERING: StoreChecks = {
  storesAnswer: async () => true,
  databaseAnswers: async () => true,
};

type SampleParts = Partial<AdmissionParts> &
  Partial<StoreChecks> & { readonly console?: ConsoleGate };

export interface SampleApp {
  readonly app: NestFastifyApplication;
  readonly edge: HttpEdge;
  readonly sample: Sample;
  readonly port: number;
  readonly origin: string;
  readonly logged: readonly Readonly<Record<string, unknown>>[];
  readonly logText: () => string;
}

/** A service on the loopback interface whose controllers show what reaches them. */
export async function startSampleApp(
  limits: Partial<HttpLimits> = {},
  controllers: readonly (new (...args: never[]) => object)[] = [],
  parts: SampleParts = {},
): Promise<SampleApp> {
  const sample = new Sample();
  const registry = createMetricsRegistry();

  @Module({
    controllers: [SampleController, HealthController, MetricsController, ...controllers],
    providers: [
      { provide: SAMPLE, useValue: sample },
      { provide: METRICS_REGISTRY, useValue: registry },
      { provide: READINESS_PROBE, useValue: { check: () => sample.check() } },
    ],
  })
  class SampleModule {}

  const lines: string[] = [];
  const logger = pino({ level: 'info' }, { write: (line: string) => void lines.push(line) });
  const edge = new HttpEdge({ logger, limits });
  const app = await NestFactory.create<NestFastifyApplication>(SampleModule, edge.adapter, {
    ...edge.applicationOptions,
    logger: false,
  });
  const admission = new Admission({
    tenants: DIRECTORY,
    tokenSecrets: { verify: async () => undefined },
    calls: UNCOUNTED,
    failures: new FailedCredentials(100_000),
    isWriteToken,
    operators: NO_OPERATORS,
    isComplete: () => true,
    ...parts,
  });
  edge.configure(app, {
    admit: (request, reply) => admission.admit(request, reply),
    allowedOrigins: async (alias) => TENANTS[alias]?.openRules.allowedOrigins,
    metrics: new HttpMetrics(registry),
    pageOfUnmatched,
    isUnavailable,
    completed: completedError,
    watch: (request, reply, refuse) =>
      refuseWhenStoresHang(request, reply, { ...ANSWERING, ...parts }, refuse),
  });
  if (parts.console) serveConsole(edge.adapter.getInstance(), parts.console);
  app.useGlobalPipes(new RequestValidationPipe());
  serveReference(app, { version: '0.0.0' });
  await app.listen(0, '127.0.0.1');
  const { port } = new URL(await app.getUrl());
  return {
    app,
    edge,
    sample,
    port: Number(port),
    origin: `http://127.0.0.1:${port}`,
    get logged() {
      return lines.map((line) => JSON.parse(line) as Readonly<Record<string, unknown>>);
    },
    logText: () => lines.join(''),
  };
}

/** The sample of a file, from its beginning to its end. */
export function useSampleApp(...given: Parameters<typeof startSampleApp>): SampleApp {
  let started: SampleApp;
  beforeAll(async () => {
    started = await startSampleApp(...given);
  });
  afterAll(() => started.app.close());
  return new Proxy({} as SampleApp, { get: (_, name) => Reflect.get(started, name) as unknown });
}

/** Samples that end with the test that starts them. */
export function sampleOfTest(): typeof startSampleApp {
  const apps: SampleApp[] = [];
  afterEach(async () => {
    for (const { app } of apps.splice(0)) await app.close();
  });
  return async (...given) => {
    const started = await startSampleApp(...given);
    apps.push(started);
    return started;
  };
}

/** Looks again as soon as others have had their turn. */
export async function turnsUntil(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setImmediate(resolve));
}

export const basic = (credentials: string): string =>
  `Basic ${Buffer.from(credentials).toString('base64')}`;

/** The fields of a request with the live key of `acme`. */
export const LIVE = { authorization: basic(':LIVE_acme') };

export const API = '/api/v1/acme';
