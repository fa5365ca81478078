import { z } from 'zod';
import type { Answer, LedgerClient } from './ledger-client.js';
import type { SeededRandom } from './seeded-random.js';

/**
 * Many concurrent callers for one reward that cannot pay them all. With one process or several over
 * the same log, the answers must be those of some serial order of the calls.
 */

export interface RaceOptions {
  /** Calls are distributed among them in turn: one for each process that takes part. */
  readonly clients: readonly LedgerClient[];
  /** New for each race: names its account. */
  readonly name: string;
  readonly random: SeededRandom;
  /** Default 64. */
  readonly callers?: number;
}

export interface RaceReport {
  readonly accepted: number;
  readonly refused: number;
  readonly assigned: number;
  readonly redeemed: number;
  /** From the first call to the last answer. */
  readonly ms: number;
  /** The violations; empty when all is well. */
  readonly violations: readonly string[];
}

const UNIT = 'CENTS';
const AMOUNT_MAX = 50;

const redeemedBody = z.object({
  creditRedeemed: z.number(),
  creditAvailable: z.number(),
  unit: z.string(),
});
const refusedBody = z.object({
  statusCode: z.literal(400),
  apiErrorCode: z.literal('INVALD_REWARD_REDEMPTION'),
});
const rewardBody = z.object({
  id: z.string(),
  assignedCredit: z.number(),
  redeemedCredit: z.number(),
  redemptions: z.array(z.object({ id: z.string(), quantityRedeemed: z.number() })),
});
const balanceBody = z.array(
  z.object({
    type: z.string(),
    totalAssignedCredit: z.number(),
    totalRedeemedCredit: z.number(),
    totalAvailableCredit: z.number(),
  }),
);

interface Call {
  readonly amount: number;
  readonly answer: Answer;
}

/**
 * Creates an account with one reward worth about half of all requests, and sends them at the same
 * time.
 */
export async function raceForOneReward({
  clients,
  name,
  random,
  callers = 64,
}: RaceOptions): Promise<RaceReport> {
  const [first] = clients;
  if (!first) throw new Error('a race needs a client');
  const amounts = Array.from({ length: callers }, () => random.integer(1, AMOUNT_MAX));
  const asked = sum(amounts);
  const assigned = Math.max(1, Math.round(asked * (0.4 + random.next() * 0.2)));
  const rewardId = await makeReward(first, name, assigned);

  const startedAt = performance.now();
  const calls = await Promise.all(
    amounts.map(async (amount, index): Promise<Call> => {
      const client = clients[index % clients.length] ?? first;
      // Both routes redeem the same credit, since the account has one reward.
      const inBulk = random.chance(0.25);
      const answer = inBulk
        ? client.post('credit/bulkredeem', { accountId: name, amount, unit: UNIT })
        : client.post(`credit/${rewardId}/redeem`, { amount, unit: UNIT });
      return { amount, answer: await answer };
    }),
  );
  const ms = performance.now() - startedAt;

  const accepted = calls.filter(({ answer }) => answer.status === 200);
  const refused = calls.filter(({ answer }) => answer.status === 400);
  const redeemed = sum(accepted.map(({ amount }) => amount));
  const violations = [
    ...badAnswers(calls),
    ...(redeemed > assigned ? [`${redeemed} redeemed of ${assigned}`] : []),
    ...notOneAfterTheOther(accepted, assigned),
    ...refused
      .filter(({ amount }) => amount <= assigned - redeemed)
      .map(
        ({ amount }) => `${amount} refused although ${assigned - redeemed} were left in the end`,
      ),
  ];
  for (const client of clients)
    violations.push(
      ...(await wrongReads(client, { accountId: name, rewardId, assigned }, accepted)),
    );
  return { accepted: accepted.length, refused: refused.length, assigned, redeemed, ms, violations };
}

async function makeReward(
  client: LedgerClient,
  accountId: string,
  assignedCredit: number,
): Promise<string> {
  await accepted(client.post('accountsync', { id: accountId, subscription: { status: 'TRIAL' } }));
  await accepted(client.post('user', { id: accountId, accountId }));
  const given = await accepted(
    client.post(`rewards/account/${accountId}/user/${accountId}`, {
      type: 'CREDIT',
      unit: UNIT,
      assignedCredit,
    }),
  );
  return rewardBody.parse(given.body).id;
}

async function accepted(answered: Promise<Answer>): Promise<Answer> {
  const answer = await answered;
  if (answer.status >= 300)
    throw new Error(`answered ${answer.status}: ${JSON.stringify(answer.body)}`);
  return answer;
}

/**
 * 200 with the requested amount, or 400 with the code of an impossible redemption; nothing else.
 */
function badAnswers(calls: readonly Call[]): string[] {
  return calls.flatMap(({ amount, answer: { status, body } }) => {
    const isRight =
      status === 200
        ? redeemedBody.safeParse(body).data?.creditRedeemed === amount
        : status === 400 && refusedBody.safeParse(body).success;
    return isRight ? [] : [`${amount} answered ${status} ${JSON.stringify(body)}`];
  });
}

/**
 * Each answer's remaining credit is the previous one's less its own amount: two that saw the same
 * credit break the chain.
 */
function notOneAfterTheOther(accepted: readonly Call[], assigned: number): string[] {
  const steps = accepted.flatMap(({ amount, answer }) => {
    const left = redeemedBody.safeParse(answer.body).data?.creditAvailable;
    return left === undefined ? [] : [{ amount, left }];
  });
  let before = assigned;
  for (const { amount, left } of steps.sort((a, b) => b.left - a.left)) {
    if (before - amount !== left)
      return [`${left} left after ${amount} although ${before} were there before`];
    before = left;
  }
  return [];
}

/** Right after the answers, in every process: balance and reward equal the sum of the answers. */
async function wrongReads(
  client: LedgerClient,
  {
    accountId,
    rewardId,
    assigned,
  }: { readonly accountId: string; readonly rewardId: string; readonly assigned: number },
  calls: readonly Call[],
): Promise<string[]> {
  const redeemed = sum(calls.map(({ amount }) => amount));
  // The client wrote through several processes: only the position says to this one how far it must
  // have read.
  const atLeast = newest(calls);
  const headers = atLeast === undefined ? undefined : { 'Ledger-Position-At-Least': atLeast };
  const [balanceAnswer, rewardAnswer] = await Promise.all([
    client.get(`reward/balance?accountId=${accountId}`, headers),
    client.get(`reward/${rewardId}`, headers),
  ]);
  const violations: string[] = [];
  const balance = balanceBody
    .safeParse(balanceAnswer.body)
    .data?.find(({ type }) => type === 'CREDIT');
  const expected = {
    type: 'CREDIT',
    totalAssignedCredit: assigned,
    totalRedeemedCredit: redeemed,
    totalAvailableCredit: assigned - redeemed,
  };
  if (JSON.stringify(balance) !== JSON.stringify(expected)) {
    violations.push(
      `balance ${balanceAnswer.status} ${JSON.stringify(balanceAnswer.body)} instead of ${JSON.stringify(expected)}`,
    );
  }
  const reward = rewardBody.safeParse(rewardAnswer.body).data;
  const quantities = reward?.redemptions
    .map(({ quantityRedeemed }) => quantityRedeemed)
    .sort(byNumber);
  const amounts = calls.map(({ amount }) => amount).sort(byNumber);
  if (
    reward?.redeemedCredit !== redeemed ||
    JSON.stringify(quantities) !== JSON.stringify(amounts)
  ) {
    violations.push(
      `reward ${rewardAnswer.status} ${JSON.stringify(rewardAnswer.body)} instead of redemptions of ${amounts.join(', ')}`,
    );
  }
  return violations;
}

/** Positions are opaque to clients; a test may know that the number follows the dash. */
function newest(calls: readonly Call[]): string | undefined {
  const numberOf = (position: string): number =>
    Number(position.slice(position.lastIndexOf('-') + 1));
  const positions = calls.flatMap(({ answer }) => {
    const position = answer.headers['ledger-position'];
    return typeof position === 'string' ? [position] : [];
  });
  return positions.sort((a, b) => numberOf(b) - numberOf(a))[0];
}

const sum = (values: readonly number[]): number =>
  values.reduce((total, value) => total + value, 0);
const byNumber = (a: number, b: number): number => a - b;
