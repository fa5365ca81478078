import { setTimeout as delay } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import { openLedgerAudit } from './ledger-audit.js';
import { LedgerClient, positionOf, type Answer } from './ledger-client.js';
import { known, MixedLoad, referralsBody, type BelievedAccount, type BelievedReferral, type KeyedWrite } from './mixed-load.js';
import type { SeededRandom } from './seeded-random.js';
import { postmasterPid, startServiceProcess, type ServiceProcess } from './service-process.js';

/** The service is killed in the middle of its work and started again on what it left; then everything it ever said is held against it. */

export interface CrashRoundsOptions {
  readonly dataDir: string;
  /** Running; the rounds kill it. */
  readonly service: ServiceProcess;
  readonly apiKey: string;
  readonly rounds: number;
  readonly random: SeededRandom;
  readonly by: 'node' | 'npm';
  readonly clients?: number;
  /** The crash comes at a random moment within this time of load. Default 300 to 1 500 ms. */
  readonly loadMs?: { readonly min: number; readonly max: number };
  readonly report?: (line: string) => void;
}

export interface CrashReport {
  /** Milliseconds from the start of the process to ready, per round. */
  readonly readyMs: readonly number[];
  readonly requests: number;
  readonly repeated: number;
  readonly accounts: number;
  readonly violations: readonly string[];
  /** The service that runs now. */
  readonly service: ServiceProcess;
}

const VICTIMS = ['service', 'service', 'service, then postgres', 'postgres, then service'] as const;

const accountBody = z.object({ subscription: z.object({ status: z.string() }) });
const userBody = z.object({ firstName: z.string().nullable() });
const rewardsBody = z.array(
  z.object({ rewardSource: z.string(), assignedCredit: z.number().nullable(), redeemedCredit: z.number().nullable() }),
);

/** @throws when the service does not come back; what it did wrong is in the report. */
export async function crashRounds(options: CrashRoundsOptions): Promise<CrashReport> {
  const { dataDir, apiKey, rounds, random, by, clients = 8, loadMs = { min: 300, max: 1_500 }, report = () => undefined } = options;
  let { service } = options;
  const readyMs: number[] = [];
  const violations: string[] = [];
  let requests = 0;
  let repeated = 0;
  let accounts = 0;
  for (let round = 1; round <= rounds; round++) {
    const load = new LedgerClient({ url: service.url, apiKey });
    const actors = Array.from({ length: clients }, (_, index) => new MixedLoad(load, `r${round}a${index}-${random.seed}`, random.fork()));
    const running = Promise.all(actors.map((actor) => actor.run()));
    await delay(random.integer(loadMs.min, loadMs.max));
    const victim = random.pick(VICTIMS);
    await crash(victim, service, dataDir);
    await running;
    load.close();

    service = await startServiceProcess({ env: { DATA_DIR: dataDir }, port: service.port, by });
    const ms = await service.ready();
    readyMs.push(ms);
    const client = new LedgerClient({ url: service.url, apiKey });
    const found = actors.flatMap((actor) => actor.violations);
    for (const actor of actors) found.push(...(await notVisible(client, actor)));
    const keyed = actors.flatMap((actor) => actor.keyed);
    // Whoever got no answer asks again at once, and side by side, as clients do.
    found.push(...(await Promise.all(keyed.map((write) => repeat(client, write)))).flat());
    for (const actor of actors) found.push(...(await unlikeBelieved(client, actor)));
    client.close();
    const audited = await audit(dataDir);
    found.push(...audited.faults);

    const sent = actors.reduce((sum, actor) => sum + actor.requests, 0);
    requests += sent;
    repeated += keyed.length;
    accounts = audited.accounts;
    violations.push(...found.map((fault) => `round ${round} (killed: ${victim}): ${fault}`));
    report(
      `round ${round}: killed ${victim} after ${sent} requests, ready in ${ms.toFixed(0)} ms, ${keyed.length} repeated, ${accounts} accounts` +
        (found.length > 0 ? `, ${found.length} FAULTS` : ''),
    );
  }
  return { readyMs, requests, repeated, accounts, violations, service };
}

async function crash(victim: (typeof VICTIMS)[number], service: ServiceProcess, dataDir: string): Promise<void> {
  const killPostgres = async (): Promise<void> => {
    const pid = await postmasterPid(dataDir);
    if (pid !== undefined) process.kill(pid, 'SIGKILL');
  };
  if (victim === 'postgres, then service') await killPostgres();
  await service.kill();
  if (victim === 'service, then postgres') await killPostgres();
}

/** What was acknowledged is in the log and readable: a read that asks for the last of those positions is answered. */
async function notVisible(client: LedgerClient, { positions }: MixedLoad): Promise<string[]> {
  const last = positions.at(-1);
  if (last === undefined) return [];
  const answer = await client.get('users?limit=0', { 'Ledger-Position-At-Least': last });
  return answer.status === 200 ? [] : [`the acknowledged position ${last} is not reached: ${answer.status} ${JSON.stringify(answer.body)}`];
}

/** The same key again: the answer that was given, or, if none was, an answer that from then on is the same. */
async function repeat(client: LedgerClient, write: KeyedWrite): Promise<string[]> {
  const { path, body, key, answer: before, learn } = write;
  const send = (): Promise<Answer> => client.post(path, body, { 'Idempotency-Key': key });
  const again = await send();
  if (before) return same(path, before, again);
  if (again.status >= 500 || again.status === 409)
    return [`POST ${path}, repeated after the crash: ${again.status} ${JSON.stringify(again.body)}`];
  write.answer = again;
  learn(again);
  return same(path, again, await send());
}

function same(path: string, before: Answer, again: Answer): string[] {
  const isSame = again.status === before.status && isDeepStrictEqual(again.body, before.body) && positionOf(again) === positionOf(before);
  const said = (answer: Answer): string => `${answer.status} ${positionOf(answer) ?? '-'} ${JSON.stringify(answer.body)}`;
  if (!isSame) return [`POST ${path} repeated: ${said(again)} instead of ${said(before)}`];
  return again.headers['idempotency-replayed'] === 'true' ? [] : [`POST ${path} repeated: the answer is not marked as a repeated one`];
}

async function unlikeBelieved(client: LedgerClient, actor: MixedLoad): Promise<string[]> {
  const faults = [...(await Promise.all([...actor.accounts.values()].map((account) => accountUnlike(client, account, actor)))).flat()];
  faults.push(...(await Promise.all(actor.referrals.map((referral) => referralUnlike(client, referral)))).flat());
  return faults;
}

async function accountUnlike(client: LedgerClient, account: BelievedAccount, { referrals }: MixedLoad): Promise<string[]> {
  const { id } = account;
  const [accountAnswer, userAnswer, rewardsAnswer] = await Promise.all([
    client.get(`account/${id}`),
    client.get(`account/${id}/user/${id}`),
    client.get(`reward?accountId=${id}`),
  ]);
  const faults: string[] = [];
  const expect = <T>(what: string, possible: readonly T[], actual: T): void => {
    if (!possible.includes(actual)) faults.push(`${what} of ${id} is ${String(actual)}, not ${possible.map(String).join(' or ')}`);
  };
  expect('status', account.status, accountBody.safeParse(accountAnswer.body).data?.subscription.status);
  expect('name', account.firstName, userBody.safeParse(userAnswer.body).data?.firstName ?? undefined);
  const rewards = rewardsBody.parse(rewardsAnswer.body);
  const sum = (values: readonly (number | null)[]): number => values.reduce<number>((total, value) => total + (value ?? 0), 0);
  const redeemed = sum(rewards.map(({ redeemedCredit }) => redeemedCredit));
  const byHand = sum(rewards.filter(({ rewardSource }) => rewardSource === 'MANUAL').map(({ assignedCredit }) => assignedCredit));
  expect('redeemed credit', [account.redeemed, account.redeemed + account.redeemedPerhaps], redeemed);
  expect('credit given', [account.granted, account.granted + account.grantedPerhaps], byHand);
  // A reward for each friend, once.
  const earned = rewards.filter(({ rewardSource }) => rewardSource === 'FRIEND_SIGNUP').length;
  const mine = referrals.filter(({ referrerId }) => referrerId === id);
  const atMost = mine.filter(({ converted }) => converted.includes(true)).length;
  const atLeast = mine.filter((referral) => isEarned(referral)).length;
  if (earned < atLeast || earned > atMost) faults.push(`${id} has ${earned} rewards for friends, not ${atLeast} to ${atMost}`);
  return faults;
}

/** Certainly converted, and certainly never denied before: the referrer was given its reward. */
const isEarned = ({ started, converted, referrerStatus }: BelievedReferral): boolean =>
  known(started, true) && known(converted, true) && known(referrerStatus, 'APPROVED');

async function referralUnlike(client: LedgerClient, referral: BelievedReferral): Promise<string[]> {
  const { referredId, started, converted, referrerStatus } = referral;
  const answer = await client.get(`referrals?referredAccountId=${referredId}`);
  const { referrals } = referralsBody.parse(answer.body);
  const [found] = referrals;
  const faults: string[] = [];
  if (referrals.length > 1 || !started.includes(found !== undefined)) faults.push(`${referrals.length} referrals of ${referredId}`);
  if (!found) return faults;
  if (!converted.includes(found.dateReferralPaid !== null))
    faults.push(`the referral of ${referredId} is ${JSON.stringify(found.dateReferralPaid)} paid`);
  if (!referrerStatus.includes(found.referrerModerationStatus)) {
    faults.push(`the referrer of ${referredId} is ${found.referrerModerationStatus}, not ${referrerStatus.join(' or ')}`);
  }
  const pays = found.referrerReward !== null && found.referrerReward.dateCancelled === null;
  const shouldPay = found.dateReferralPaid !== null && found.referrerModerationStatus === 'APPROVED';
  if (pays !== shouldPay)
    faults.push(`the referrer of ${referredId} ${shouldPay ? 'has no reward' : 'has a reward'}: ${JSON.stringify(found)}`);
  return faults;
}

async function audit(dataDir: string): Promise<{ readonly accounts: number; readonly faults: readonly string[] }> {
  const books = await openLedgerAudit(dataDir);
  try {
    const deadline = performance.now() + 10_000;
    while (!(await books.isUpToDate())) {
      if (performance.now() > deadline) return { accounts: 0, faults: ['the read models do not reach the head of the log'] };
      await delay(10);
    }
    const { accounts, faults } = await books.differences();
    return { accounts, faults: [...(await books.logFaults()), ...faults] };
  } finally {
    await books.close();
  }
}
