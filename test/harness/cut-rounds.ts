import { setTimeout as delay } from 'node:timers/promises';
import { pino } from 'pino';
import { loadConfig } from '../../src/config/config.js';
import { openCore, type Core } from '../../src/core/core.js';
import type { Position } from '../../src/event-log/event-log.js';
import { LedgerClient, NoAnswer, positionOf, type Answer } from './ledger-client.js';
import { startServiceProcess, type ServiceProcess } from './service-process.js';

/**
 * Ends each connection of the service to its database, one after the other, under load: requests,
 * the log's writer, readers and listener, the locks of the followers, the workers, the channels.
 * After each of them everything must work again without a restart.
 */
export interface CutRoundsOptions {
  readonly dataDir: string;
  /** Running; it is never started again. */
  readonly service: ServiceProcess;
  readonly apiKey: string;
  readonly rounds: number;
  /** A second process runs next to it, and is killed in each round while it leads followers. */
  readonly killsLeaders: boolean;
  /** How soon everything must work again. */
  readonly backWithinMs: number;
  readonly report?: (line: string) => void;
}

export interface CutReport {
  /** Connections that were ended, by name. */
  readonly cuts: ReadonlyMap<string, number>;
  /** Milliseconds until everything worked again, for each cut. */
  readonly backMs: readonly number[];
  readonly leadersKilled: number;
  readonly requests: number;
  /** Answered 503, or not at all, and sent again. */
  readonly repeated: number;
  /** Answers or figures that no fault may cause. */
  readonly violations: readonly string[];
}

const OWN_NAME = 'ledger-cuts';
const CLIENTS = 4;
const CREDIT = 1_000_000;
/** Of the followers' locks (src/postgres/leadership.ts). */
const FOLLOWERS_LOCK_CLASS = 720_250;
const LOOK_EVERY_MS = 20;

/** @throws when something does not come back, or the service ended. */
export async function cutRounds(options: CutRoundsOptions): Promise<CutReport> {
  const { dataDir, service, apiKey, rounds, killsLeaders, report = () => undefined } = options;
  const core = await openCore({
    config: loadConfig({ DATA_DIR: dataDir }),
    logger: pino({ level: 'silent' }),
    actor: { kind: 'system', id: 'cuts' },
    applicationName: OWN_NAME,
  });
  const client = new LedgerClient({ url: service.url, apiKey });
  const loads = Array.from({ length: CLIENTS }, (_, n) => new Redemptions(client, `cut-${n}`));
  const state = { cuts: new Map<string, number>(), backMs: [] as number[], leadersKilled: 0 };
  const parts = { ...options, core, client, loads };
  try {
    for (const load of loads) await load.prepare();
    const running = Promise.all(loads.map((load) => load.run()));
    for (let round = 1; round <= rounds; round++) {
      const before = state.backMs.length;
      for (const name of await names(core)) await cutEach(parts, name, state);
      if (killsLeaders && (await killLeader(parts))) state.leadersKilled += 1;
      await workerWorks(parts, `scheduled-${round}`);
      const worst = Math.max(...state.backMs.slice(before));
      report(
        `round ${round}: ${state.backMs.length - before} connections ended, all back after ${worst.toFixed(0)} ms at most`,
      );
    }
    for (const load of loads) load.stop();
    await running;
    const violations: string[] = [];
    for (const load of loads) violations.push(...(await load.faults()));
    return {
      ...state,
      requests: loads.reduce((sum, { requests }) => sum + requests, 0),
      repeated: loads.reduce((sum, { repeated }) => sum + repeated, 0),
      violations,
    };
  } finally {
    for (const load of loads) load.stop();
    client.close();
    await core.close();
  }
}

interface Parts extends CutRoundsOptions {
  readonly core: Core;
  readonly client: LedgerClient;
}

async function names({ pool }: Core): Promise<readonly string[]> {
  const { rows } = await pool.query<{ name: string }>(
    `select distinct application_name as name from pg_stat_activity
     where application_name like 'ledger-%' and application_name <> $1 order by 1`,
    [OWN_NAME],
  );
  return rows.map(({ name }) => name);
}

async function pidsOf({ pool }: Core, name: string): Promise<readonly number[]> {
  const { rows } = await pool.query<{ pid: number }>(
    'select pid from pg_stat_activity where application_name = $1 order by backend_start, pid',
    [name],
  );
  return rows.map(({ pid }) => pid);
}

/** What pg_terminate_backend sends, to sessions of other roles, too. */
function terminate(pid: number): void {
  try {
    process.kill(pid, 'SIGTERM');
  } catch {
    // It has ended by itself.
  }
}

async function cutEach(
  parts: Parts,
  name: string,
  { cuts, backMs }: { readonly cuts: Map<string, number>; readonly backMs: number[] },
): Promise<void> {
  const { core } = parts;
  for (const pid of await pidsOf(core, name)) {
    terminate(pid);
    cuts.set(name, (cuts.get(name) ?? 0) + 1);
    const began = performance.now();
    await everythingWorks(parts, `after the end of ${name}`);
    backMs.push(performance.now() - began);
  }
}

/** A write, the read models, the policies and every part of the health page. */
async function everythingWorks({ client, core, service, backWithinMs }: Parts, when: string) {
  const written: { at?: Position } = {};
  const steps: Readonly<Record<string, () => Promise<boolean>>> = {
    'a write is accepted': async () => {
      const sync = { id: 'cut-probe', subscription: { status: 'TRIAL' } };
      const answer = await client.post('accountsync', sync);
      const at = positionOf(answer);
      if (answer.status !== 200 || at === undefined) return false;
      written.at = at;
      return true;
    },
    'the read models show it': async () =>
      (await client.get('users?limit=0', { 'Ledger-Position-At-Least': written.at ?? '' }))
        .status === 200,
    'the policies have seen it': async () => {
      const { rows } = await core.pool.query<{ position: string | null }>(
        'select position from ledger.policy_checkpoints',
      );
      return core.log.compare(rows[0]?.position ?? undefined, written.at) >= 0;
    },
    'the service is ready, every part of it': async () => {
      const { status, checks } = await readiness(service);
      return status === 'ready' && Object.values(checks).every(({ ok }) => ok);
    },
  };
  for (const [step, holds] of Object.entries(steps))
    await until(holds, { service, withinMs: backWithinMs, what: `${when}: ${step}` });
}

interface Checks {
  readonly status: string;
  readonly checks: Readonly<Record<string, { readonly ok: boolean; readonly role?: string }>>;
}

const readiness = async ({ url }: ServiceProcess): Promise<Checks> =>
  (await (await fetch(`${url}/health/ready`)).json()) as Checks;

interface Until {
  readonly service: ServiceProcess;
  readonly withinMs: number;
  readonly what: string;
}

async function until(
  holds: () => Promise<boolean>,
  { service, withinMs, what }: Until,
): Promise<void> {
  const deadline = performance.now() + withinMs;
  while (!(await holds().catch(() => false))) {
    const ended = await Promise.race([service.exited, Promise.resolve(undefined)]);
    if (ended || performance.now() > deadline)
      throw new Error(
        `not within ${withinMs} ms: ${what}${ended ? ' (the service ended)' : ''}\n${service.output()}`,
      );
    await delay(LOOK_EVERY_MS);
  }
}

/** Ends the followers' locks until the second process has some, and kills it with SIGKILL. */
async function killLeader(parts: Parts): Promise<boolean> {
  const { core, dataDir } = parts;
  const second = await startServiceProcess({ env: { DATA_DIR: dataDir } });
  let leads = false;
  try {
    await second.ready();
    for (let tries = 0; tries < 20 && !leads; tries++) {
      const { rows } = await core.pool.query<{ pid: number }>(
        'select distinct pid from pg_locks where classid = $1',
        [FOLLOWERS_LOCK_CLASS],
      );
      for (const { pid } of rows) terminate(pid);
      await delay(500);
      const { checks } = await readiness(second).catch(() => ({ checks: {} }));
      leads = Object.values(checks).some(({ role }) => role === 'leader');
    }
  } finally {
    await second.kill();
  }
  await everythingWorks(parts, 'after the end of a leading process');
  return leads;
}

/** A job runs: a reward that becomes available on its date. */
async function workerWorks({ client, core, service, backWithinMs }: Parts, id: string) {
  const types = async (): Promise<number> =>
    (await core.pool.query(`select from ledger.events where type = 'RewardBecameAvailable'`))
      .rowCount ?? 0;
  const before = await types();
  await makeUser(client, id);
  const reward = { type: 'CREDIT', unit: 'CENTS', assignedCredit: 1 };
  const dateScheduledFor = Date.now() + 500;
  await must(client.post(`rewards/account/${id}/user/${id}`, { ...reward, dateScheduledFor }));
  const what = 'a job makes a reward available';
  await until(async () => (await types()) > before, { service, withinMs: backWithinMs, what });
}

async function makeUser(client: LedgerClient, id: string): Promise<void> {
  await must(client.post('accountsync', { id, subscription: { status: 'TRIAL' } }));
  await must(client.post('user', { id, accountId: id }));
}

async function must(sent: Promise<Answer>): Promise<Answer> {
  const answer = await sent;
  if (answer.status >= 300)
    throw new Error(`answered ${answer.status}: ${JSON.stringify(answer.body)}`);
  return answer;
}

/** One client that redeems a cent after the other, each with a key, until it is answered. */
class Redemptions {
  requests = 0;
  repeated = 0;
  private redeemed = 0;
  private rewardId = '';
  private stopped = false;
  private readonly wrong: string[] = [];

  constructor(
    private readonly client: LedgerClient,
    private readonly name: string,
  ) {}

  async prepare(): Promise<void> {
    const { client, name } = this;
    await makeUser(client, name);
    const reward = { type: 'CREDIT', unit: 'CENTS', assignedCredit: CREDIT };
    const made = await must(client.post(`rewards/account/${name}/user/${name}`, reward));
    this.rewardId = (made.body as { readonly id: string }).id;
  }

  stop(): void {
    this.stopped = true;
  }

  async run(): Promise<void> {
    while (!this.stopped) await this.redeem(`${this.name}-${this.redeemed}`);
  }

  /** @returns what is wrong with the answers, and with the balance. */
  async faults(): Promise<readonly string[]> {
    const { body } = await must(this.client.get(`reward/balance?accountId=${this.name}`));
    const [balance] = body as readonly { readonly totalRedeemedCredit: number }[];
    const shown = balance?.totalRedeemedCredit;
    return shown === this.redeemed
      ? this.wrong
      : [...this.wrong, `${this.redeemed} cents were redeemed, and the balance says ${shown}`];
  }

  private async redeem(key: string): Promise<void> {
    const redemption = { amount: 1, unit: 'CENTS' };
    const headers = { 'Idempotency-Key': key };
    for (;;) {
      this.requests += 1;
      const path = `credit/${this.rewardId}/redeem`;
      const status = await this.client.post(path, redemption, headers).then(
        (answer) => answer.status,
        (error: unknown) => {
          if (error instanceof NoAnswer) return undefined;
          throw error;
        },
      );
      if (status === 200) {
        this.redeemed += 1;
        return;
      }
      if (status !== 503) this.wrong.push(`a redemption was answered ${status ?? 'not at all'}`);
      this.repeated += 1;
      await delay(LOOK_EVERY_MS);
    }
  }
}
