import { setTimeout as delay } from 'node:timers/promises';
import { StripeDouble, type DoubleCall } from '../test/harness/stripe-double.js';
import { seedFrom, SeededRandom } from '../test/harness/seeded-random.js';
import {
  makeDataDir,
  removeDataDir,
  startServiceProcess,
  type ServiceProcess,
} from '../test/harness/service-process.js';
import { withCore } from '../test/harness/webhook-tenants.js';

/**
 * The service is killed at a step of a push, again and again: before and after the intent, in the
 * call, when it took effect, when its answer is there, and at random. In every second round two
 * services share the work, and one or both are killed. Then each reward must be paid once at the
 * provider, and as often in the ledger. Fails (exit 1) with what was not, and the seed; no wait is
 * for ever. `SOAK_ROUNDS` (100), `SOAK_SEED`, `SOAK_WITHIN_MS` (120 000: for a start, and for what
 * comes of a round).
 */
const ROUNDS = Number(process.env['SOAK_ROUNDS'] ?? 100);
const seed = seedFrom(process.env['SOAK_SEED']);
const random = new SeededRandom(seed);

const KEY = 'sk_live_soak0001';
const AMOUNT = 700;
const PAIRS = 3;
const WITHIN_MS = Number(process.env['SOAK_WITHIN_MS'] ?? 120_000);
const ANSWER_WITHIN_MS = 30_000;
const PROGRAM = {
  id: 'default',
  referredReward: null,
  referrerReward: {
    type: 'CREDIT',
    unit: 'CENTS',
    currency: 'USD',
    assignedCredit: AMOUNT,
    payTo: 'provider',
    when: 'STARTED',
  },
} as const;

const STEPS = ['linked', 'request', 'effect', 'answer', 'random'] as const;
type Step = (typeof STEPS)[number];

interface Ledger {
  readonly dataDir: string;
  readonly alias: string;
  readonly authorization: string;
}

const isPayment = ({ method, path }: DoubleCall): boolean =>
  method === 'POST' && path.endsWith('/balance_transactions');

async function start(dataDir: string): Promise<ServiceProcess> {
  const env = { DATA_DIR: dataDir, WEBHOOK_ALLOW_CIDRS: '127.0.0.0/8' };
  const service = await startServiceProcess({ env });
  try {
    await service.ready(WITHIN_MS);
    return service;
  } catch (error) {
    // A process that is left behind keeps this one from its end.
    await service.kill();
    throw error;
  }
}

/** Starts or ends services until so many run. */
async function run(services: ServiceProcess[], count: number, dataDir: string): Promise<void> {
  while (services.length < count) services.push(await start(dataDir));
  for (const service of services.splice(count)) await ended(service);
}

/** @throws when it does not end by itself in time; it is killed then. */
async function ended(service: ServiceProcess): Promise<void> {
  const killing = setTimeout(() => void service.signal('SIGKILL'), WITHIN_MS);
  const code = await service.terminate();
  clearTimeout(killing);
  if (code === null)
    throw new Error(`a service did not end within ${WITHIN_MS} ms:\n${service.output()}`);
}

async function prepare(dataDir: string, double: StripeDouble): Promise<Ledger> {
  return withCore(dataDir, async (core) => {
    const alias = 'payments';
    const program = PROGRAM;
    const asked = { alias, programType: 'PAYMENT_PROVIDER', openEndpoints: true, program } as const;
    const created = await core.tenantCommands.create(asked);
    if ('refused' in created) throw new Error(created.refused);
    const meta = {
      scope: { tenant: alias, mode: 'live' },
      commandId: crypto.randomUUID(),
      correlationId: 'soak',
      causationId: 'soak',
      actor: { kind: 'operator', id: 'soak' },
      idempotency: null,
    } as const;
    const credentials = { secretKey: KEY, webhookSecret: 'whsec_soak0001', apiBase: double.url };
    await core.payments.connect(meta, { provider: 'stripe', ...credentials }, 60_000);
    const authorization = `Basic ${Buffer.from(`:${created.liveApiKey}`).toString('base64')}`;
    return { dataDir, alias, authorization };
  });
}

async function put(
  { url }: ServiceProcess,
  { alias, authorization }: Ledger,
  user: Readonly<Record<string, unknown>> & { readonly id: string },
): Promise<void> {
  const path = `/api/v1/${alias}/open/account/${user.id}/user/${user.id}`;
  const response = await fetch(`${url}${path}`, {
    method: 'PUT',
    headers: { authorization, 'content-type': 'application/json' },
    body: JSON.stringify({ accountId: user.id, ...user }),
    signal: AbortSignal.timeout(ANSWER_WITHIN_MS),
  });
  if (!response.ok) throw new Error(`a user was answered ${await response.text()}`);
}

/** Requests go to any of them. */
const some = (services: readonly ServiceProcess[]): ServiceProcess => random.pick(services);

/** @returns the redemptions of the account's rewards, as one list. */
async function redemptionsOf(
  { url }: ServiceProcess,
  { alias, authorization }: Ledger,
  account: string,
): Promise<readonly { quantityRedeemed: number; externalReference?: string }[]> {
  const path = `/api/v1/${alias}/reward?accountId=${account}`;
  const signal = AbortSignal.timeout(ANSWER_WITHIN_MS);
  const response = await fetch(`${url}${path}`, { headers: { authorization }, signal });
  if (response.status !== 200) return [];
  const rewards = (await response.json()) as {
    redemptions: { quantityRedeemed: number; externalReference?: string }[];
  }[];
  return rewards.flatMap(({ redemptions }) => redemptions);
}

/** Waits for the moment of the step; a look each millisecond. */
async function untilStep(step: Step, double: StripeDouble): Promise<void> {
  const [calls, paid] = [
    double.callsTo('POST', /balance/).length,
    double.balanceTransactions.length,
  ];
  const has = {
    linked: () => true,
    request: () => double.callsTo('POST', /balance/).length > calls,
    effect: () => double.balanceTransactions.length > paid,
    answer: () => double.balanceTransactions.length > paid,
    random: () => true,
  };
  if (step === 'request') double.fail({ kind: 'hang' }, isPayment);
  if (step === 'effect') double.fail({ kind: 'lose-answer' }, isPayment);
  const end = performance.now() + WITHIN_MS;
  while (!has[step]() && performance.now() < end) await delay(1);
  if (step === 'random') await delay(random.integer(0, 1_500));
  if (step === 'answer') await delay(random.integer(0, 40));
}

async function round(
  number: number,
  ledger: Ledger,
  running: ServiceProcess[],
  double: StripeDouble,
): Promise<readonly string[]> {
  const step = random.pick(STEPS);
  await run(running, number % 2 === 0 ? 2 : 1, ledger.dataDir);
  const owners = Array.from({ length: PAIRS }, (_, index) => `ann${number}x${index}`);
  for (const id of owners) {
    await put(some(running), ledger, { id, referralCode: `CODE${id}` });
    await put(some(running), ledger, { id: `bob${id}`, referredBy: { code: `CODE${id}` } });
    double.customer(`cus_${id}`);
  }
  const reached = untilStep(step, double);
  for (const id of owners) await put(some(running), ledger, { id, paymentProviderId: `cus_${id}` });
  await reached;
  const killed = random.chance(0.5) ? [...running.keys()] : [random.integer(0, running.length - 1)];
  for (const index of killed) await running[index]?.kill();
  double.faults.length = 0;
  for (const index of killed) running[index] = await start(ledger.dataDir);
  const faults: string[] = [];
  const end = performance.now() + WITHIN_MS;
  for (const id of owners) {
    let redeemed = await redemptionsOf(some(running), ledger, id);
    while (redeemed.length === 0 && performance.now() < end) {
      await delay(50);
      redeemed = await redemptionsOf(some(running), ledger, id);
    }
    const paid = double.balanceTransactions.filter(({ customer }) => customer === `cus_${id}`);
    const provider = paid.map(({ id: reference, amount }) => [reference, -amount]);
    const own = redeemed.map((one) => [one.externalReference, one.quantityRedeemed]);
    const isRight = paid.length === 1 && JSON.stringify(provider) === JSON.stringify(own);
    if (!isRight)
      faults.push(`round ${number} (${step}), ${id}: ${JSON.stringify({ provider, own })}`);
  }
  const what = `${killed.length} of ${running.length} killed, ${step}`;
  console.log(`round ${number} (${what}): ${faults.length === 0 ? 'each paid once' : 'FAULT'}`);
  return faults;
}

async function main(): Promise<void> {
  console.log(`seed ${seed}`);
  const double = await StripeDouble.start({ secretKey: KEY });
  const dataDir = await makeDataDir();
  const faults: string[] = [];
  const services: ServiceProcess[] = [];
  try {
    await run(services, 1, dataDir);
    const ledger = await prepare(dataDir, double);
    for (let number = 1; number <= ROUNDS; number += 1) {
      faults.push(...(await round(number, ledger, services, double)));
    }
    await run(services, 0, dataDir);
    console.log(
      `${ROUNDS} rounds, ${double.balanceTransactions.length} credits, ${double.calls.length} calls`,
    );
    if (faults.length > 0) throw new Error(faults.join('\n'));
  } finally {
    for (const service of services) await service.kill();
    await double.stop();
    await removeDataDir(dataDir);
  }
}

main().catch((error: unknown) => {
  console.error(error instanceof Error ? error.message : error);
  console.error(`again with SOAK_SEED=${seed}`);
  process.exitCode = 1;
});
