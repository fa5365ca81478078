import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import { positionOf, type Answer, type LedgerClient } from '../test/harness/ledger-client.js';
import {
  known,
  referralsBody,
  type BelievedAccount,
  type BelievedReferral,
  type KeyedWrite,
  type MixedLoad,
} from './mixed-load.js';

const accountBody = z.object({ subscription: z.object({ status: z.string() }) });
const userBody = z.object({ firstName: z.string().nullable() });
const rewardsBody = z.array(
  z.object({
    id: z.string(),
    rewardSource: z.string(),
    assignedCredit: z.number().nullable(),
    redeemedCredit: z.number().nullable(),
    dateCancelled: z.number().nullable(),
  }),
);

/**
 * Checks all answers that the service gave these clients, after trouble that is over. Writes with a
 * key are sent again, including those without an answer, so that the clients' books are as certain
 * as they can be.
 * @returns lost, doubled and contradicted effects.
 */
export async function brokenPromises(
  client: LedgerClient,
  actors: readonly MixedLoad[],
): Promise<string[]> {
  const found = (await Promise.all(actors.map((actor) => notVisible(client, actor)))).flat();
  const keyed = actors.flatMap((actor) => actor.keyed);
  // Clients without an answer repeat immediately and in parallel.
  found.push(...(await Promise.all(keyed.map((write) => repeat(client, write)))).flat());
  found.push(...(await Promise.all(actors.map((actor) => unlikeBelieved(client, actor)))).flat());
  return found;
}

/**
 * Acknowledged writes are in the log and readable: a read that requires the last of their positions
 * is answered.
 */
async function notVisible(client: LedgerClient, { positions }: MixedLoad): Promise<string[]> {
  const last = positions.at(-1);
  if (last === undefined) return [];
  const answer = await client.get('users?limit=0', { 'Ledger-Position-At-Least': last });
  return answer.status === 200
    ? []
    : [
        `the acknowledged position ${last} is not reached: ${answer.status} ${JSON.stringify(answer.body)}`,
      ];
}

/**
 * The same key again returns the earlier answer or, if there was none, an answer that stays the
 * same from now on.
 */
async function repeat(client: LedgerClient, write: KeyedWrite): Promise<string[]> {
  const { path, body, key, answer: before, learn } = write;
  const send = (): Promise<Answer> => client.post(path, body, { 'Idempotency-Key': key });
  const again = await send();
  if (before) return same(path, before, again);
  if (again.status >= 500 || again.status === 409)
    return [
      `POST ${path}, repeated after the crash: ${again.status} ${JSON.stringify(again.body)}`,
    ];
  write.answer = again;
  learn(again);
  return same(path, again, await send());
}

function same(path: string, before: Answer, again: Answer): string[] {
  const isSame =
    again.status === before.status &&
    isDeepStrictEqual(again.body, before.body) &&
    positionOf(again) === positionOf(before);
  const said = (answer: Answer): string =>
    `${answer.status} ${positionOf(answer) ?? '-'} ${JSON.stringify(answer.body)}`;
  if (!isSame) return [`POST ${path} repeated: ${said(again)} instead of ${said(before)}`];
  return again.headers['idempotency-replayed'] === 'true'
    ? []
    : [`POST ${path} repeated: the answer is not marked as a repeated one`];
}

async function unlikeBelieved(client: LedgerClient, actor: MixedLoad): Promise<string[]> {
  const faults = [
    ...(
      await Promise.all(
        [...actor.accounts.values()].map((account) => accountUnlike(client, account, actor)),
      )
    ).flat(),
  ];
  faults.push(
    ...(
      await Promise.all(actor.referrals.map((referral) => referralUnlike(client, referral)))
    ).flat(),
  );
  faults.push(...(await halfModerated(client, actor)));
  return faults;
}

/** Whether a moderation without an answer changed some of its referrals and not the others. */
async function halfModerated(
  client: LedgerClient,
  { moderationInDoubt }: MixedLoad,
): Promise<string[]> {
  if (moderationInDoubt === undefined) return [];
  const { status, referrals } = moderationInDoubt;
  const changing = referrals.filter(({ before }) => before !== status);
  const done = await Promise.all(
    changing.map(async ({ referredId }) => {
      const answer = await client.get(`referrals?referredAccountId=${referredId}`);
      return referralsBody.parse(answer.body).referrals[0]?.referrerModerationStatus === status;
    }),
  );
  return new Set(done).size > 1
    ? [
        `a moderation to ${status} was carried out for some only: ${JSON.stringify({ changing, done })}`,
      ]
    : [];
}

async function accountUnlike(
  client: LedgerClient,
  account: BelievedAccount,
  { referrals, rewards: given }: MixedLoad,
): Promise<string[]> {
  const { id } = account;
  const [accountAnswer, userAnswer, rewardsAnswer] = await Promise.all([
    client.get(`account/${id}`),
    client.get(`account/${id}/user/${id}`),
    client.get(`reward?accountId=${id}`),
  ]);
  const faults: string[] = [];
  const expect = <T>(what: string, possible: readonly T[], actual: T): void => {
    if (!possible.includes(actual))
      faults.push(
        `${what} of ${id} is ${String(actual)}, not ${possible.map(String).join(' or ')}`,
      );
  };
  expect(
    'status',
    account.status,
    accountBody.safeParse(accountAnswer.body).data?.subscription.status,
  );
  expect(
    'name',
    account.firstName,
    userBody.safeParse(userAnswer.body).data?.firstName ?? undefined,
  );
  const rewards = rewardsBody.parse(rewardsAnswer.body);
  const sum = (values: readonly (number | null)[]): number =>
    values.reduce<number>((total, value) => total + (value ?? 0), 0);
  const redeemed = sum(rewards.map(({ redeemedCredit }) => redeemedCredit));
  const byHand = sum(
    rewards
      .filter(({ rewardSource }) => rewardSource === 'MANUAL')
      .map(({ assignedCredit }) => assignedCredit),
  );
  expect(
    'redeemed credit',
    [account.redeemed, account.redeemed + account.redeemedPerhaps],
    redeemed,
  );
  expect('credit given', [account.granted, account.granted + account.grantedPerhaps], byHand);
  for (const { id: rewardId, redeemedCredit, dateCancelled } of rewards) {
    if (dateCancelled !== null && (redeemedCredit ?? 0) > 0)
      faults.push(`the reward ${rewardId} is cancelled and redeemed`);
    const believed = given.find((reward) => reward.id === rewardId);
    if (believed) expect(`cancellation of ${rewardId}`, believed.cancelled, dateCancelled !== null);
  }
  // A reward for each friend, once.
  const earned = rewards.filter(({ rewardSource }) => rewardSource === 'FRIEND_SIGNUP').length;
  const mine = referrals.filter(({ referrerId }) => referrerId === id);
  const atMost = mine.filter(({ converted }) => converted.includes(true)).length;
  const atLeast = mine.filter((referral) => isEarned(referral)).length;
  if (earned < atLeast || earned > atMost)
    faults.push(`${id} has ${earned} rewards for friends, not ${atLeast} to ${atMost}`);
  return faults;
}

/** Certainly converted, and certainly never denied before: the referrer has its reward. */
const isEarned = ({ started, converted, referrerStatus }: BelievedReferral): boolean =>
  known(started, true) && known(converted, true) && known(referrerStatus, 'APPROVED');

async function referralUnlike(client: LedgerClient, referral: BelievedReferral): Promise<string[]> {
  const { referredId, started, converted, referrerStatus } = referral;
  const answer = await client.get(`referrals?referredAccountId=${referredId}`);
  const { referrals } = referralsBody.parse(answer.body);
  const [found] = referrals;
  const faults: string[] = [];
  if (referrals.length > 1 || !started.includes(found !== undefined))
    faults.push(`${referrals.length} referrals of ${referredId}`);
  if (!found) return faults;
  if (!converted.includes(found.dateReferralPaid !== null))
    faults.push(`the referral of ${referredId} is ${JSON.stringify(found.dateReferralPaid)} paid`);
  if (!referrerStatus.includes(found.referrerModerationStatus)) {
    faults.push(
      `the referrer of ${referredId} is ${found.referrerModerationStatus}, not ${referrerStatus.join(' or ')}`,
    );
  }
  const pays = found.referrerReward !== null && found.referrerReward.dateCancelled === null;
  const shouldPay =
    found.dateReferralPaid !== null && found.referrerModerationStatus === 'APPROVED';
  if (pays !== shouldPay)
    faults.push(
      `the referrer of ${referredId} ${shouldPay ? 'has no reward' : 'has a reward'}: ${JSON.stringify(found)}`,
    );
  return faults;
}
