import { setTimeout as delay } from 'node:timers/promises';
import { z } from 'zod';
import { SeededRandom } from '../../test/harness/seeded-random.js';
import { DescribedOperations } from './described-operations.js';
import { LedgerValues, providerSecretOf, type Ledger } from './ledger-values.js';
import type { OpenApiValidator } from '../../test/harness/openapi-validator.js';
import { Oracle } from './oracle.js';
import { RequestPlans, type RequestPlan } from './request-plans.js';
import {
  asCurl,
  operatorRequest,
  RequestWriter,
  tenantRequest,
  type FuzzRequest,
  type FuzzWorld,
} from './requests.js';
import { Sender, type FuzzAnswer } from './sender.js';
import { openSmallWorld } from './small-world.js';

export interface FuzzOptions {
  readonly world: FuzzWorld;
  /** Of the service's description. */
  readonly validator: OpenApiValidator;
  readonly seed: number;
  /** Of each operation. */
  readonly requests: number;
  /** Makes trouble below the service; then 503 is an answer, too. */
  readonly trouble?: () => Promise<void>;
  readonly onProgress?: (line: string) => void;
  readonly onViolation?: (violation: Violation) => void;
}

export interface Tally {
  requests: number;
  violations: number;
  /** Of the requests that were made to be accepted: all, and those that were. */
  valid: number;
  accepted: number;
  readonly statuses: Map<number, number>;
}

export interface Violation {
  readonly what: string;
  /** The command that sends the request again. */
  readonly curl: string;
}

export interface FuzzReport {
  readonly operations: ReadonlyMap<string, Tally>;
  readonly violations: readonly Violation[];
  readonly requests: number;
}

/** Requests of an operation that are generated at a time. */
const PART = 10;
const TROUBLE_EVERY = 600;
const PAUSE_AFTER_503_MS = 50;
const RUN_MS_MAX = 120_000;

const run = z.object({ id: z.string(), state: z.enum(['running', 'done', 'failed']) });
const replay = z.object({ differences: z.array(z.unknown()) });

/** Sends generated requests of every operation, and holds every answer against the oracle. */
export async function fuzz(options: FuzzOptions): Promise<FuzzReport> {
  const fuzzing = new FuzzRun(options);
  try {
    await fuzzing.run();
    return fuzzing.result;
  } finally {
    fuzzing.close();
  }
}

class FuzzRun {
  private readonly described: DescribedOperations;
  private readonly plans: RequestPlans;
  private readonly values: readonly LedgerValues[];
  private readonly writer: RequestWriter;
  private readonly oracle: Oracle;
  private readonly sender: Sender;
  private readonly random: SeededRandom;
  private readonly operations = new Map<string, Tally>();
  private readonly violations: Violation[] = [];
  private requests = 0;
  private trouble: Promise<void> | undefined;

  constructor(private readonly options: FuzzOptions) {
    const { world, validator, seed, trouble } = options;
    this.described = new DescribedOperations(validator.document);
    this.plans = new RequestPlans(this.described);
    this.values = world.ledgers.map((ledger) => new LedgerValues(ledger));
    this.writer = new RequestWriter(world, this.values, this.described);
    this.oracle = new Oracle(validator, this.values, trouble !== undefined);
    this.sender = new Sender(world.origin);
    this.random = new SeededRandom(seed);
  }

  get result(): FuzzReport {
    const { operations, violations, requests } = this;
    return { operations, violations, requests };
  }

  close(): void {
    this.sender.close();
  }

  async run(): Promise<void> {
    const { requests, seed, onProgress } = this.options;
    for (const values of this.values)
      await openSmallWorld(values.ledger, (...asked) => this.setUp(values, ...asked));
    for (const { ledger } of this.values) if (ledger.hasProvider) await this.connect(ledger);
    for (let sent = 0; sent < requests; sent += PART) {
      const count = Math.min(PART, requests - sent);
      const plans = this.described.operations.flatMap((operation) =>
        this.plans.generate(operation, count, seed, sent),
      );
      for (const plan of shuffled(plans, this.random)) await this.sendPlan(plan);
      onProgress?.(
        `${sent + count} requests an operation, ${this.requests} in all, ${this.violations.length} violations`,
      );
    }
    await this.trouble;
    for (const { ledger } of this.values) await this.replay(ledger);
    await this.operate('GET', '/health/ready');
  }

  /** @throws when the request is refused. */
  private async setUp(
    values: LedgerValues,
    ...[method, path, body]: readonly [method: string, path: string, body?: object]
  ): Promise<unknown> {
    const request = tenantRequest(values.ledger, method, path, body);
    const answer = await this.send('the first requests', request);
    if (answer === undefined || answer.status >= 300)
      throw new Error(`${method} ${path}: ${answer?.status ?? 'none'} ${answer?.text ?? ''}`);
    values.learn(answer.body);
    return answer.body;
  }

  /** The payment provider. @throws when it is refused. */
  private async connect({ tenant, mode, outside, ...ledger }: Ledger): Promise<void> {
    const answer = await this.operate('POST', `/operations/payments/${tenant}/connect`, {
      mode,
      provider: 'stripe',
      secretKey: `sk_${mode}_${ledger.mark}`,
      webhookSecret: providerSecretOf({ ...ledger, tenant, mode }),
      apiBase: outside,
    });
    if (answer?.status !== 200) throw new Error(`not connected: ${answer?.text ?? 'no answer'}`);
  }

  private async sendPlan(plan: RequestPlan): Promise<void> {
    const { operation, isRepeated } = plan;
    const request = this.writer.write(plan);
    const answer = await this.send(operation.key, request);
    if (answer === undefined) return;
    if (isRepeated) {
      const again = await this.send(operation.key, request);
      if (again && takesKeys(plan))
        this.record(operation.key, request, this.oracle.differences(request, answer, again));
    }
    const isAccepted = answer.status < 400;
    if (plan.kind === 'valid') {
      const tally = this.tallyOf(operation.key);
      tally.valid += 1;
      tally.accepted += isAccepted ? 1 : 0;
    }
    if (!isAccepted) return;
    const values = this.writer.valuesFor(plan);
    // An operator may have asked for the tenant's other mode.
    values.learn(answer.body, operation.access !== 'operator');
    const position = answer.headers['ledger-position'];
    if (typeof position === 'string') values.remember('position', position);
    if (answer.status === 202) await this.untilRunEnded(answer);
  }

  /** Undefined: no answer arrived. */
  private async send(key: string, request: FuzzRequest): Promise<FuzzAnswer | undefined> {
    const tally = this.tallyOf(key);
    tally.requests += 1;
    this.requests += 1;
    this.makeTrouble();
    try {
      const answer = await this.sender.send(request);
      tally.statuses.set(answer.status, (tally.statuses.get(answer.status) ?? 0) + 1);
      this.record(key, request, this.oracle.violations(request, answer));
      // Or most requests of the run would be refused while the database is away.
      if (answer.status === 503) await delay(PAUSE_AFTER_503_MS);
      return answer;
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      this.record(key, request, [`no answer: ${why}`]);
      return undefined;
    }
  }

  private record(key: string, request: FuzzRequest, found: readonly string[]): void {
    this.tallyOf(key).violations += found.length;
    const curl = asCurl(request, this.options.world.origin);
    for (const what of found) {
      const violation = { what: `request ${this.requests}, ${key}: ${what}`, curl };
      this.violations.push(violation);
      this.options.onViolation?.(violation);
    }
  }

  private tallyOf(key: string): Tally {
    const known = this.operations.get(key);
    if (known !== undefined) return known;
    const made = {
      requests: 0,
      violations: 0,
      valid: 0,
      accepted: 0,
      statuses: new Map<number, number>(),
    };
    this.operations.set(key, made);
    return made;
  }

  private makeTrouble(): void {
    const { trouble } = this.options;
    if (trouble === undefined || this.trouble || !this.random.chance(1 / TROUBLE_EVERY)) return;
    this.trouble = trouble().finally(() => (this.trouble = undefined));
  }

  /** Folds the log and compares it with the read models, as `ledger replay` does. */
  private async replay({ tenant, mode }: Ledger): Promise<void> {
    const path = `/operations/ledger/${tenant}/replay`;
    const deadline = performance.now() + RUN_MS_MAX;
    for (;;) {
      const first = await this.operate('POST', path, { mode });
      const answer = first?.status === 202 ? await this.untilRunEnded(first) : first;
      if (answer?.status === 200) {
        const { differences } = replay.parse(resultOf(answer.body));
        const found = differences.map((difference) => `replay: ${JSON.stringify(difference)}`);
        return this.record(
          `POST ${path}`,
          operatorRequest(this.options.world, 'POST', path),
          found,
        );
      }
      // A rebuild that an earlier request asked for is under way.
      if (performance.now() > deadline)
        throw new Error(`the ledger cannot be replayed: ${answer?.text ?? 'no answer'}`);
      await delay(PAUSE_AFTER_503_MS);
    }
  }

  /** Only so many runs go on at a time. */
  private async untilRunEnded(answer: FuzzAnswer): Promise<FuzzAnswer> {
    const { id } = run.parse(answer.body);
    const deadline = performance.now() + RUN_MS_MAX;
    for (;;) {
      const now = await this.operate('GET', `/operations/runs/${id}`);
      if (now?.status === 200 && run.parse(now.body).state !== 'running') return now;
      if (performance.now() > deadline) throw new Error(`the run ${id} does not end`);
      await delay(PAUSE_AFTER_503_MS);
    }
  }

  private operate(method: string, path: string, body?: object): Promise<FuzzAnswer | undefined> {
    const request = operatorRequest(this.options.world, method, path, body);
    return this.send('the checks of the run', request);
  }
}

const takesKeys = ({ operation, method = operation.method }: RequestPlan): boolean =>
  method === operation.method &&
  operation.parameters.some(({ name }) => name === 'Idempotency-Key');

/** The document of an operation that was answered without a run, or of its run. */
const resultOf = (body: unknown): unknown =>
  run.safeParse(body).success ? Reflect.get(Object(body), 'result') : body;

function shuffled<T>(items: readonly T[], random: SeededRandom): T[] {
  return items
    .map((item) => ({ item, at: random.next() }))
    .sort((a, b) => a.at - b.at)
    .map(({ item }) => item);
}
