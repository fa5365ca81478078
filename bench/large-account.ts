import { setTimeout as delay } from 'node:timers/promises';
import pLimit from 'p-limit';
import type { LedgerClient } from './ledger-client.js';
import { lengthenAccount } from './long-account.js';
import { SeededRandom } from './seeded-random.js';
import {
  makeDataDir,
  removeDataDir,
  residentMb,
  residentMbMax,
  startServiceProcess,
  type ServiceProcess,
} from './service-process.js';
import { WebhookReceivers, type Receiver } from './webhook-receivers.js';
import { clientOf, grant, makeAccount, makeTenant, must, withCore } from './webhook-tenants.js';

/**
 * Webhooks of an account with very many events: how long the first one after a start takes, the
 * rate of those behind it beside an account with few events in the same run, and the resident
 * memory. Fails (exit 1) when one is missing, arrives with two bodies, or shows another balance
 * than the one after its event. `BENCH_EVENTS` (100 000), `BENCH_TOLD` (500) grants a round,
 * `BENCH_ROUNDS` (3).
 */
const EVENTS = Number(process.env.BENCH_EVENTS ?? 100_000);
const TOLD = Number(process.env.BENCH_TOLD ?? 500);
const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 3);
const AT_ONCE = 8;
const LOOK_EVERY_MS = 20;
const ARRIVE_WITHIN_MS = 300_000;
const [LARGE, SMALL] = ['large', 'small'];

/** Of a grant: `reward.created` and `user.reward.balance.changed`. */
const WEBHOOKS_PER_GRANT = 2;

class Told {
  /** Ids of rewards that were granted, by account. */
  private readonly granted = new Map<string, string[]>();

  constructor(private readonly receiver: Receiver) {}

  /** Grants of 1, and waits for what is told of them. @returns milliseconds. */
  async grants(client: LedgerClient, account: string, count: number) {
    const limit = pLimit(AT_ONCE);
    const before = this.receiver.arrived.size;
    const began = performance.now();
    const ids = await Promise.all(
      Array.from({ length: count }, () => limit(() => grant(client, account, 1))),
    );
    const answered = performance.now() - began;
    this.granted.set(account, [...(this.granted.get(account) ?? []), ...ids]);
    while (this.receiver.arrived.size < before + count * WEBHOOKS_PER_GRANT) {
      if (performance.now() - began > ARRIVE_WITHIN_MS) throw new Error('webhooks are missing');
      await delay(LOOK_EVERY_MS);
    }
    return { answered, told: performance.now() - began };
  }

  /** What is wrong with all that arrived about the account. */
  faults(account: string): readonly string[] {
    const about = [...this.receiver.arrived.values()]
      .map(({ envelope }) => envelope)
      .filter(({ data }) => data['accountId'] === account);
    const rewards = new Set(
      about.filter(({ type }) => type === 'reward.created').map(({ data }) => data['id']),
    );
    const missing = (this.granted.get(account) ?? []).filter((id) => !rewards.has(id));
    const balances = about
      .filter(({ type }) => type === 'user.reward.balance.changed')
      .map(({ data }) => [Number(data['resourceVersion']), Number(data['availableValue'])] as const)
      .sort(([a], [b]) => a - b);
    const [, first = NaN] = balances[0] ?? [];
    const wrong = balances.filter(([, available], place) => available !== first + place);
    return [
      ...missing.map((id) => `${account}: no webhook of the reward ${id}`),
      ...wrong.map(([version, available]) => `${account}: ${available} at version ${version}`),
    ];
  }
}

const seconds = (ms: number): string => `${(ms / 1_000).toFixed(2)} s`;
const perSecond = (ms: number): string =>
  ((TOLD * WEBHOOKS_PER_GRANT * 1_000) / ms).toFixed(0).padStart(6);

async function memoryOf(service: ServiceProcess): Promise<string> {
  const pid = await service.pid();
  const [now, most] = [await residentMb(pid), await residentMbMax(pid)];
  return `${now.toFixed(0)} MB resident, at most ${most.toFixed(0)}`;
}

async function measure(dataDir: string): Promise<readonly string[]> {
  const env = { DATA_DIR: dataDir, WEBHOOK_ALLOW_CIDRS: '127.0.0.0/8' };
  let service = await startServiceProcess({ env });
  await service.ready();
  const receivers = await WebhookReceivers.start(new SeededRandom(1));
  try {
    receivers.trust(await (await fetch(`${service.url}/.well-known/jwks.json`)).json());
    const tenant = await withCore(dataDir, (core) => makeTenant(core, 'bench'));
    const client = clientOf(service, tenant);
    for (const account of [LARGE, SMALL]) await makeAccount(client, account);
    await withCore(dataDir, (core) => {
      const scope = { tenant: tenant.alias, mode: 'live' } as const;
      return lengthenAccount(core, scope, core.names.accountRef(scope, LARGE), EVENTS);
    });
    const receiver = receivers.add(tenant.alias, 'healthy');
    const made = await must(client.post('subscription', { endpointUrl: receiver.url }));
    receiver.secret = (made as { readonly secret: string }).secret;
    const told = new Told(receiver);
    await told.grants(client, SMALL, 1);
    console.log(`${EVENTS} events; before their first webhook ${await memoryOf(service)}`);
    for (const start of ['first', 'first after a start']) {
      const { answered, told: after } = await told.grants(client, LARGE, 1);
      console.log(`${start}: answered in ${seconds(answered)}, told after ${seconds(after)}`);
      console.log(`  ${await memoryOf(service)}`);
      for (let round = 0; round < ROUNDS; round++) {
        const few = await told.grants(client, SMALL, TOLD);
        const many = await told.grants(client, LARGE, TOLD);
        console.log(
          `  webhooks/s ${perSecond(many.told)}; of few events ${perSecond(few.told)}; ` +
            `${(few.told / many.told).toFixed(2)} of it; ${await memoryOf(service)}`,
        );
      }
      await service.terminate();
      service = await startServiceProcess({ env, port: service.port });
      await service.ready();
    }
    client.close();
    return [...told.faults(LARGE), ...told.faults(SMALL), ...receivers.faults];
  } finally {
    await service.terminate();
    await receivers.stop();
  }
}

async function main(): Promise<void> {
  const dataDir = await makeDataDir();
  try {
    const faults = await measure(dataDir);
    if (faults.length > 0)
      throw new Error(`${faults.length} faults:\n  ${faults.slice(0, 20).join('\n  ')}`);
  } finally {
    await removeDataDir(dataDir);
  }
}

await main();
