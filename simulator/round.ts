import { createHash, type Hash } from 'node:crypto';
import { TenantCommands } from '../src/command-handling/tenant-commands.js';
import type { Scope } from '../src/domain/scope.js';
import { enterWorld, newId } from '../src/foundation/world.js';
import { FixedSealer } from '../src/privacy/sealed-bytes.js';
import { brokenPromises } from './checks.js';
import { Fate } from './fate.js';
import { Faults } from './faults.js';
import type { RoundPlan } from './plan.js';
import { BilledCustomers } from './billed-customers.js';
import { MonthEnd } from './month-end.js';
import { isBilled, PROGRAMS } from './programs.js';
import { Requests } from './requests.js';
import { SeededRandom } from './seeded-random.js';
import { SimulatedProviderAccount, WEBHOOK_SECRET } from './simulated-provider.js';
import { NAMES, SharedStores, SimulatedService } from './service.js';
import { Owner, VirtualWorld } from './virtual-world.js';
import { Subscribers } from './subscribers.js';
import { KnownWorld } from './known-world.js';

export interface RoundResult {
  /** Requests sent. */
  readonly commands: number;
  readonly accepted: number;
  readonly events: number;
  /** Turns of the scheduler. */
  readonly turns: number;
  readonly faults: ReadonlyMap<string, number>;
  /** Empty: every promise held. */
  readonly violations: readonly string[];
  /** Over all events and answers, in order. */
  readonly digest: string;
}

const TENANT = 'acme';
const DAY_MS = 86_400_000;
/** A month ends in the days of rest, and what happened before belongs to it. */
const MONTH_END_DAYS = 24;
const SECRETS_KEY = Buffer.alloc(32, 4);
/** A request takes some hundred turns; a world in which more happens goes in circles. */
const TURNS_PER_COMMAND = 2_000;
const TURNS_TO_REST = 200_000;
/** Of the followers of the log, so that batches end anywhere. */
const PAGES = [1, 7, 100] as const;
const PIECES = [1, 3, 100] as const;
/** Longer than any pause of the runner, and than the lapse of a claim. */
const QUIET_MS = 2_500;
/** What waits for an outage may have to wait for longer than clients do. */
const OUTAGES_GO_ON_MS = 15_000;
/** Everything scheduled is due by then, and every key free again. */
const DAYS_OF_REST = 8;

/**
 * Runs one round in a world of its own, lets it come to rest, and checks every promise. This
 * process is in that world meanwhile.
 */
export async function runRound(plan: RoundPlan): Promise<RoundResult> {
  const round = new Round(plan);
  const leave = enterWorld(round.world);
  try {
    return await round.run();
  } finally {
    leave();
  }
}

class Round {
  readonly world: VirtualWorld;
  private readonly random: SeededRandom;
  private readonly faults: Faults;
  private readonly shared: SharedStores;
  private readonly known: KnownWorld;
  private readonly requests: Requests;
  private readonly fate: Fate;
  private readonly subscribers: Subscribers;
  /** Undefined: the tenant has no payment provider. */
  private readonly provider: SimulatedProviderAccount | undefined;
  private readonly customers: BilledCustomers | undefined;
  /** Undefined: months are not closed. */
  private readonly monthEnd: MonthEnd | undefined;
  private readonly scope: Scope;
  private readonly names = NAMES;
  private readonly services: SimulatedService[] = [];
  private readonly answers: Hash = createHash('sha256');
  private processes = 0;
  private accepted = 0;
  private isUpgraded = false;

  constructor(private readonly plan: RoundPlan) {
    this.scope = { tenant: TENANT, mode: plan.mode ?? 'live' };
    this.random = new SeededRandom(plan.seed);
    this.world = new VirtualWorld(this.random, plan.isHurried);
    this.faults = new Faults(this.random, plan.faults);
    this.shared = new SharedStores(this.world, this.random.uuid());
    const customers = Array.from({ length: plan.accounts }, (_, index) => `cus-${index}`);
    const billed = isBilled(plan.program);
    this.known = new KnownWorld(plan.accounts, plan.creditMax, billed ? customers : undefined);
    const { world, random, faults, shared, services } = this;
    const startProcess = (place: number): SimulatedService => this.startProcess(place);
    this.fate = new Fate({ world, random, faults, shared, services, startProcess });
    const endpoints = plan.endpoints ?? 0;
    this.subscribers = new Subscribers({
      world,
      random,
      scope: this.scope,
      shared,
      services,
      endpoints,
    });
    this.provider = billed ? new SimulatedProviderAccount(() => world.now()) : undefined;
    this.customers =
      this.provider &&
      new BilledCustomers({
        world,
        random,
        tenant: TENANT,
        provider: this.provider,
        customers,
        services,
      });
    this.monthEnd = this.openMonthEnd();
    this.requests = new Requests({
      world: this.world,
      random: this.random,
      scope: this.scope,
      faults: this.faults,
      known: this.known,
      services: this.services,
      weights: plan.wishes,
      commandsMax: plan.commands,
      onEnding: ({ callId, ending }) => {
        if (ending?.kind === 'accepted') this.accepted += 1;
        this.answers.update(`${callId}${JSON.stringify(ending)}`);
      },
    });
  }

  private openMonthEnd(): MonthEnd | undefined {
    if (this.plan.closesMonths !== true) return undefined;
    const { world, random, scope, services } = this;
    world.moveClock(MONTH_END_DAYS * DAY_MS);
    return new MonthEnd({
      world,
      random,
      scope,
      accounts: this.known.accounts,
      services,
      inProcess: (owner, work) => this.inProcess(owner, work),
    });
  }

  async run(): Promise<RoundResult> {
    const violations: string[] = [];
    try {
      await this.play();
      violations.push(...this.requests.unanswered.map((body) => `not answered: ${body}`));
      violations.push(
        ...this.requests.answeredUnread.map(
          (answer) => `the account cannot be read, and ${answer}`,
        ),
      );
      violations.push(...(this.monthEnd?.broken ?? []), ...(await this.broken()));
    } catch (error) {
      violations.push(error instanceof Error ? error.message : String(error));
    }
    for (const { id, type, data } of this.shared.log.all)
      this.answers.update(`${id}${type}${data}`);
    return {
      commands: this.requests.count,
      accepted: this.accepted,
      events: this.shared.log.all.length,
      turns: this.world.steps,
      faults: this.faults.counts,
      violations,
      digest: this.answers.digest('hex'),
    };
  }

  private async play(): Promise<void> {
    const { world, plan } = this;
    for (let n = 0; n < plan.processes; n++) this.services.push(this.startProcess(n));
    await this.createTenant();
    await this.connect();
    this.shared.log.keepSoFar();
    this.fate.start();
    this.subscribers.start();
    this.customers?.start();
    let finished = 0;
    for (let n = 0; n < plan.clients; n++) {
      const owner = new Owner(`client-${n}`);
      world.hand(owner, () => void this.requests.client(owner).then(() => (finished += 1)));
    }
    await world.runUntil(() => finished === plan.clients, plan.commands * TURNS_PER_COMMAND);
    await this.rest();
  }

  /** One that ends may come back as either release, until all are of the newer one. */
  private releaseIn(place: number): RoundPlan['addition'] {
    const { addition, processes } = this.plan;
    if (addition === undefined || processes === 1 || place > 0 || this.isUpgraded) return undefined;
    return this.processes > 0 && this.random.onceIn(3) ? undefined : addition;
  }

  private startProcess(place: number): SimulatedService {
    const without = this.releaseIn(place);
    const service = new SimulatedService(this.shared, {
      world: this.world,
      faults: this.faults,
      id: (this.processes += 1),
      rememberedBytes: this.plan.cacheBytes,
      batches: {
        pageSize: this.random.oneOf(PAGES),
        pieceRowsMax: this.random.oneOf(PIECES),
      },
      provider: this.provider,
      without,
      onChange: (by) => this.fate.meets(by),
    });
    service.start();
    return service;
  }

  private async createTenant(): Promise<void> {
    const service = this.random.oneOf(this.services);
    const tenants = this.tenantsOf(service);
    const tenant = {
      alias: TENANT,
      programType: this.provider ? ('PAYMENT_PROVIDER' as const) : ('API_ONLY' as const),
      openEndpoints: true,
      program: PROGRAMS[this.plan.program],
    };
    await this.inProcess(service.owner, async () => {
      // Created, or created by a try whose answer was lost.
      await untilDone(() => tenants.create(tenant));
    });
  }

  /** To the payment provider. */
  private async connect(): Promise<void> {
    if (this.provider === undefined) return;
    const { payments, owner } = this.random.oneOf(this.services);
    const actor = { kind: 'system', id: 'simulator' } as const;
    const named = { correlationId: 'connect', causationId: 'connect', actor, idempotency: null };
    const credentials = { secretKey: 'a key', webhookSecret: WEBHOOK_SECRET, apiBase: null };
    await this.inProcess(owner, async () => {
      for (;;) {
        const meta = { scope: this.scope, commandId: newId(), ...named };
        const asked = { provider: 'stripe', ...credentials } as const;
        const done = await payments?.connections.connect(meta, asked, 0).catch(() => undefined);
        if (done !== undefined) return;
      }
    });
  }

  private tenantsOf({ commands, streams }: SimulatedService): TenantCommands {
    const actor = { kind: 'system', id: 'simulator' } as const;
    return new TenantCommands(commands, streams, this.names, new FixedSealer(SECRETS_KEY), actor);
  }

  /** Does something in the name of a process, and waits for it. */
  private async inProcess<T>(owner: Owner, work: () => Promise<T>): Promise<T> {
    let outcome: { readonly value: T } | { readonly error: unknown } | undefined;
    this.world.hand(owner, () => {
      void work().then(
        (value) => (outcome = { value }),
        (error: unknown) => (outcome = { error }),
      );
    });
    await this.world.runUntil(() => outcome !== undefined, TURNS_TO_REST);
    if (outcome === undefined || 'error' in outcome) throw outcome?.error;
    return outcome.value;
  }

  /** Nothing goes wrong any more, and everything that is due happens. */
  private async rest(): Promise<void> {
    this.faults.calm();
    this.subscribers.stop();
    this.customers?.stop();
    if (!this.world.isHurried || this.shared.outages.areUnderWay)
      await this.pass(this.random.below(OUTAGES_GO_ON_MS));
    this.shared.outages.endAll();
    for (const service of this.services) service.thaw();
    this.isUpgraded = true;
    this.fate.upgrade();
    for (let day = 0; day < DAYS_OF_REST; day++) {
      this.world.moveClock(DAY_MS);
      await this.quiet();
      await this.monthEnd?.look();
    }
  }

  /** All parts run on their own for so long. */
  private async pass(ms: number): Promise<void> {
    const until = this.world.elapsed() + ms;
    await this.world.runUntil(() => this.world.elapsed() >= until, TURNS_TO_REST);
  }

  /** Until policies and jobs have had nothing to do for a while. */
  private async quiet(): Promise<void> {
    const { log, policies, work, readModels, webhooks } = this.shared;
    let since = this.world.elapsed();
    let { head } = log;
    const reached = (): bigint => log.positions.number(policies.checkpoint?.position ?? undefined);
    const areRowsReady = (): boolean =>
      log.positions.number(webhooks.checkpoint?.position ?? undefined) === log.head &&
      readModels.followed.every(
        ({ position, erasures }) =>
          log.positions.number(position) === log.head && erasures.length === 0,
      );
    const isQuiet = (): boolean => {
      if (
        log.head !== head ||
        reached() < head ||
        !areRowsReady() ||
        policies.rows.length > 0 ||
        work.due().length > 0
      ) {
        since = this.world.elapsed();
        ({ head } = log);
      }
      return this.world.elapsed() - since > QUIET_MS;
    };
    await this.world.runUntil(isQuiet, TURNS_TO_REST).catch((error: unknown) => {
      const [parked] = policies.rows;
      throw new Error(
        `the world does not come to rest: policies at ${reached()} of ${log.head}, ${work.due().length} items due (${work.due().join()}), ` +
          `rows at ${readModels.followed.map(({ position, erasures, lastError }) => `${position ?? ''} ${erasures.length} ${lastError ?? ''}`).join(', ')}, ` +
          `webhooks at ${webhooks.checkpoint?.position ?? ''}, ` +
          `${policies.rows.length} reactions parked (${parked?.parked.policy ?? ''} ${parked?.parked.reason ?? ''}), ` +
          `${this.services.map(({ follower }) => `${follower.leads('policies') ? 'leader' : 'standby'} ${follower.problemOf('policies') ?? ''}`).join(', ')}; waiting ${this.world.waiting}`,
        { cause: error },
      );
    });
  }

  private async broken(): Promise<string[]> {
    const { shared, services, requests, world, names, random } = this;
    return brokenPromises({
      shared,
      services,
      requests: requests.sent,
      now: world.now(),
      scope: this.scope,
      names,
      random,
      provider: this.provider,
      mayEventsBeOld: (this.faults.counts.get('clock set forward') ?? 0) > 1,
      areAnswersLost: this.faults.counts.has('all answers purged'),
      inProcess: (owner, work) => this.inProcess(owner, work),
    });
  }
}

/** Tries until it is there, or was by an earlier try. */
async function untilDone(work: () => Promise<unknown>): Promise<void> {
  for (;;) if (await work().catch(() => undefined)) return;
}
