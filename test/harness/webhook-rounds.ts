import { setTimeout as delay } from 'node:timers/promises';
import type { Core } from '../../src/stores/core.js';
import { NoAnswer, type LedgerClient } from './ledger-client.js';
import { whenReady } from '../../bench/postgres-rounds.js';
import type { SeededRandom } from './seeded-random.js';
import { postmasterPid, startServiceProcess, type ServiceProcess } from './service-process.js';
import { nameOfArrived, ExpectedWebhooks } from './expected-webhooks.js';
import {
  WebhookReceivers,
  type Arrived,
  type Receiver,
  type ReceiverKind,
} from './webhook-receivers.js';
import {
  clientOf,
  grant,
  makeAccount,
  makeTenant,
  makeUser,
  must,
  NotAccepted,
  withCore,
  type Tenant,
} from './webhook-tenants.js';

/**
 * Kills what sends webhooks while events flow to receivers of which some fail, hang or break off;
 * then compares what arrived with the log.
 */
export interface WebhookRoundsOptions {
  readonly dataDir: string;
  readonly rounds: number;
  readonly random: SeededRandom;
  readonly tenants: number;
  readonly eventsPerSecond: number;
  /** The trouble comes at a random moment within this time of load. */
  readonly loadMs: { readonly min: number; readonly max: number };
  readonly report?: (line: string) => void;
}

export interface WebhookReport {
  /** Writes that were accepted. */
  readonly events: number;
  /** Different ids at endpoints. */
  readonly deliveries: number;
  /** Requests with an id that was there before. */
  readonly repeated: number;
  readonly violations: readonly string[];
}

const TROUBLES = [
  ['worker'],
  ['service'],
  ['postgres'],
  ['worker', 'service'],
  ['postgres', 'worker'],
  ['service', 'postgres'],
  ['worker', 'service', 'postgres'],
  ['worker is frozen'],
  ['worker is stopped'],
] as const;
type Trouble = (typeof TROUBLES)[number];

/** Of each tenant. */
const KINDS: readonly ReceiverKind[] = ['healthy', 'healthy', 'any'];
const LAST_KINDS: readonly ReceiverKind[] = ['failing', 'hanging', 'breaking-off'];
const ACCOUNTS = 3;
const LOOK_EVERY_MS = 100;
const ARRIVE_WITHIN_MS = 300_000;
const UNDER_WAY_MAX = 50;

/** @throws when a process does not start again; other faults are in the report. */
export async function webhookRounds(options: WebhookRoundsOptions): Promise<WebhookReport> {
  const rounds = await WebhookRounds.prepare(options);
  try {
    for (let round = 1; round <= options.rounds; round++) await rounds.run(round);
    return await rounds.end();
  } finally {
    await rounds.stop();
  }
}

interface TenantWithRewards extends Tenant {
  /** Of the accounts that were there before. */
  readonly rewards: string[];
}

interface Processes {
  service: ServiceProcess;
  worker: ServiceProcess;
}

class WebhookRounds {
  private readonly violations: string[] = [];
  private events = 0;
  private made = 0;
  private readonly names = new WeakMap<Arrived, string>();

  private constructor(
    private readonly options: WebhookRoundsOptions,
    private readonly processes: Processes,
    private readonly receivers: WebhookReceivers,
    private readonly tenants: readonly TenantWithRewards[],
    private readonly expected: ExpectedWebhooks,
  ) {}

  static async prepare(options: WebhookRoundsOptions): Promise<WebhookRounds> {
    const { dataDir, tenants: count, random } = options;
    const service = await start(dataDir, 'service');
    await service.ready();
    const worker = await start(dataDir, 'worker');
    await worker.ready();
    const receivers = await WebhookReceivers.start(random.fork());
    receivers.trust(await (await fetch(`${service.url}/.well-known/jwks.json`)).json());
    const tenants: TenantWithRewards[] = [];
    return withCore(dataDir, async (core) => {
      for (let n = 0; n < count; n++) {
        const tenant = { ...(await makeTenant(core, `tenant-${n}`)), rewards: [] as string[] };
        tenants.push(tenant);
        const client = clientOf(service, tenant);
        for (let account = 0; account < ACCOUNTS; account++)
          tenant.rewards.push(await makeAccount(client, `account-${account}`));
        const last = LAST_KINDS[n % LAST_KINDS.length] ?? 'failing';
        for (const kind of [...KINDS, last])
          await subscribe(client, receivers.add(tenant.alias, kind));
        client.close();
      }
      const expected = new ExpectedWebhooks(await core.log.head());
      return new WebhookRounds(options, { service, worker }, receivers, tenants, expected);
    });
  }

  async run(round: number): Promise<void> {
    const { random, loadMs, dataDir, report = () => undefined } = this.options;
    const trouble = random.pick(TROUBLES);
    const before = { events: this.events, accepted: this.receivers.accepted };
    const ending = new AbortController();
    const load = this.load(ending.signal);
    await delay(random.integer(loadMs.min, loadMs.max));
    await makeTrouble(trouble, this.processes, dataDir);
    // Events go on where the service is alive.
    await delay(random.integer(50, 300));
    ending.abort();
    await load;
    await startAgain(this.processes, dataDir);
    await withCore(dataDir, letClaimsLapse);
    const healthy = this.receivers.all.filter(({ kind }) => kind === 'healthy');
    const found = await this.arriveAt(healthy);
    this.violations.push(...found.map((fault) => `round ${round} (${trouble.join()}): ${fault}`));
    const accepted = this.receivers.accepted - before.accepted;
    report(
      `round ${round}: ${trouble.join()}; ${this.events - before.events} events, ${accepted} accepted` +
        (found.length > 0 ? `, ${found.length} FAULTS` : ''),
    );
  }

  /** All receivers are healed, and time passes: everything arrives everywhere. */
  async end(): Promise<WebhookReport> {
    this.receivers.heal();
    this.violations.push(...(await this.arriveAt(this.receivers.all, letRetriesBeDue)));
    this.violations.push(...(await withCore(this.options.dataDir, leftBehind)));
    this.violations.push(...this.receivers.faults);
    const arrived = this.receivers.all.flatMap((receiver) => [...receiver.arrived.values()]);
    return {
      events: this.events,
      deliveries: arrived.length,
      repeated: arrived.reduce((sum, { times }) => sum + times - 1, 0),
      violations: this.violations,
    };
  }

  async stop(): Promise<void> {
    await this.processes.worker.kill();
    await this.processes.service.kill();
    await this.receivers.stop();
  }

  /** So many writes a second, answered or not. */
  private async load(signal: AbortSignal): Promise<void> {
    const { random, eventsPerSecond } = this.options;
    const clients = this.tenants.map((tenant) => clientOf(this.processes.service, tenant));
    const underWay = new Set<Promise<void>>();
    const began = performance.now();
    for (let sent = 0; !signal.aborted; await delay(5)) {
      const due = ((performance.now() - began) / 1_000) * eventsPerSecond;
      for (; sent < due && underWay.size < UNDER_WAY_MAX; sent++) {
        const n = random.integer(0, this.tenants.length - 1);
        const [client, tenant] = [clients[n], this.tenants[n]];
        if (client === undefined || tenant === undefined) continue;
        const write = this.write(client, tenant).finally(() => underWay.delete(write));
        underWay.add(write);
      }
    }
    await delay(100);
    for (const client of clients) client.close();
    await Promise.all(underWay);
  }

  /** A redemption, a grant, or a new account with a user. */
  private async write(client: LedgerClient, { rewards }: TenantWithRewards): Promise<void> {
    const { random } = this.options;
    const kind = random.next();
    const account = random.integer(0, ACCOUNTS - 1);
    try {
      if (kind < 0.1) await makeUser(client, `made-${(this.made += 1)}`);
      else if (kind < 0.4) await grant(client, `account-${account}`, 1);
      else
        await must(client.post(`credit/${rewards[account]}/redeem`, { amount: 1, unit: 'CENTS' }));
      this.events += 1;
    } catch (error) {
      if (!(error instanceof NoAnswer || error instanceof NotAccepted)) throw error;
    }
  }

  /** Waits until the endpoints have what the log has. @param meanwhile done now and then. */
  private async arriveAt(
    receivers: readonly Receiver[],
    meanwhile: (core: Core) => Promise<void> = () => Promise.resolve(),
  ): Promise<string[]> {
    return withCore(this.options.dataDir, async (core) => {
      let deadline = performance.now() + ARRIVE_WITHIN_MS;
      let fewest = Infinity;
      for (;;) {
        const names = this.receivers.all.map((receiver) => this.namesAt(core, receiver));
        await this.expected.readOn(core);
        const missing = receivers.flatMap((receiver) => this.missingAt(core, receiver));
        if (missing.length === 0 || performance.now() > deadline)
          return [...missing, ...this.unexpected(names)];
        // On a busy machine all of it takes long; while some arrives, more will.
        if (missing.length < fewest) deadline = performance.now() + ARRIVE_WITHIN_MS;
        fewest = Math.min(fewest, missing.length);
        await meanwhile(core);
        await delay(LOOK_EVERY_MS);
      }
    });
  }

  private missingAt(core: Core, receiver: Receiver): readonly string[] {
    const accepted = new Set(
      [...receiver.arrived.values()]
        .filter(({ isAccepted }) => isAccepted)
        .map((arrived) => this.nameOf(core, arrived)),
    );
    return [...this.expected.of(receiver.tenant)]
      .filter((name) => !accepted.has(name))
      .map((name) => `${receiver.url} did not receive ${name}`);
  }

  /** What was sent and is not in the log, or was sent under two ids. */
  private unexpected(names: readonly (readonly string[])[]): readonly string[] {
    return this.receivers.all.flatMap(({ url, tenant }, index) => {
      const expected = this.expected.of(tenant);
      const sent = names[index] ?? [];
      return [
        ...sent
          .filter((name) => !expected.has(name))
          .map((name) => `${url} received ${name}, which is not in the log`),
        ...(new Set(sent).size === sent.length ? [] : [`${url} received one event under two ids`]),
      ];
    });
  }

  private namesAt(core: Core, { arrived }: Receiver): readonly string[] {
    return [...arrived.values()].map((one) => this.nameOf(core, one));
  }

  private nameOf(core: Core, arrived: Arrived): string {
    const name = this.names.get(arrived) ?? nameOfArrived(core, arrived);
    this.names.set(arrived, name);
    return name;
  }
}

/**
 * The time of all claims passes: those of processes that died, and of those that live. A frozen
 * process may have locked some.
 */
async function letClaimsLapse({ pool }: Core): Promise<void> {
  await pool.query(
    `update ledger.webhook_deliveries set leased_until = leased_until - interval '61 s',
       next_attempt_at = next_attempt_at - interval '61 s'
     where id in (
       select id from ledger.webhook_deliveries where leased_until is not null
       for update skip locked
     )`,
  );
  await pool.query(
    `update ledger.webhook_endpoints set due_at = due_at - interval '61 s'
     where (tenant, mode, endpoint_id) in (
       select tenant, mode, endpoint_id from ledger.webhook_endpoints for update skip locked
     )`,
  );
}

/** The time of all retries comes; that of claims does not. */
async function letRetriesBeDue({ pool }: Core): Promise<void> {
  await pool.query(
    `update ledger.webhook_deliveries set next_attempt_at = now()
     where id in (
       select id from ledger.webhook_deliveries
       where state = 'PENDING' and leased_until is null and next_attempt_at > now()
       for update skip locked
     )`,
  );
  // Without waiting: those that the service locks in its order are looked at again.
  await pool.query(
    `update ledger.webhook_endpoints set due_at = now(), pause_until = null
     where (tenant, mode, endpoint_id) in (
       select tenant, mode, endpoint_id from ledger.webhook_endpoints
       where due_at > now() for update skip locked
     )`,
  );
}

/** What is not delivered, or claimed, although everything has arrived. */
async function leftBehind(core: Core): Promise<readonly string[]> {
  let deadline = performance.now() + ARRIVE_WITHIN_MS;
  let fewest = Infinity;
  for (;;) {
    const { rows } = await core.pool.query<{ id: string; state: string }>(
      `select id, state from ledger.webhook_deliveries where state <> 'DELIVERED' or leased_until is not null`,
    );
    if (rows.length === 0 || performance.now() > deadline)
      return rows.map(({ id, state }) => `the delivery ${id} is left ${state}`);
    if (rows.length < fewest) deadline = performance.now() + ARRIVE_WITHIN_MS;
    fewest = Math.min(fewest, rows.length);
    await letRetriesBeDue(core);
    await delay(LOOK_EVERY_MS);
  }
}

async function makeTrouble(
  trouble: Trouble,
  { service, worker }: Processes,
  dataDir: string,
): Promise<void> {
  for (const what of trouble)
    switch (what) {
      case 'worker':
        await worker.kill();
        break;
      case 'service':
        await service.kill();
        break;
      case 'postgres': {
        const pid = await postmasterPid(dataDir);
        if (pid !== undefined) process.kill(pid, 'SIGKILL');
        break;
      }
      case 'worker is frozen':
        // Others take its claims over; it continues with them.
        await worker.signal('SIGSTOP');
        await withCore(dataDir, letClaimsLapse);
        await delay(500);
        await worker.signal('SIGCONT');
        break;
      case 'worker is stopped':
        await worker.terminate();
    }
}

async function startAgain(processes: Processes, dataDir: string): Promise<void> {
  for (const name of ['service', 'worker'] as const) {
    const ended = await Promise.race([processes[name].exited, Promise.resolve(undefined)]);
    if (ended) processes[name] = await start(dataDir, name, processes[name].port);
    await whenReady(processes[name]);
  }
}

const start = (dataDir: string, name: keyof Processes, port?: number): Promise<ServiceProcess> =>
  startServiceProcess({
    env: {
      DATA_DIR: dataDir,
      WEBHOOK_ALLOW_CIDRS: '127.0.0.0/8',
      LOG_LEVEL: 'error',
      // The same links from all processes.
      PUBLIC_URL: 'https://rounds.example',
      ...(name === 'worker' ? { ROLES: 'worker' } : {}),
    },
    ...(port === undefined ? {} : { port }),
  });

async function subscribe(client: LedgerClient, receiver: Receiver): Promise<void> {
  const made = await must(client.post('subscription', { endpointUrl: receiver.url }));
  receiver.secret = (made as { readonly secret: string }).secret;
}
