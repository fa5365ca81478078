import { createHash, randomUUID } from 'node:crypto';
import type { Core } from '../src/stores/core.js';
import type { AccountEvent } from '../src/domain/account/account.events.js';

/**
 * Events of rewards as the service would have written them: sealed, with an envelope, one append an
 * account.
 */
const SCOPE = { tenant: 'bench', mode: 'live' } as const;
const PER_ACCOUNT = 50;
const AT_ONCE = 16;

/**
 * Appends so many events, or a few more: every account has its fifty. @returns how many it were.
 */
export async function writeBalanceEvents(core: Core, atLeast: number): Promise<number> {
  const accounts = Math.ceil(atLeast / PER_ACCOUNT);
  for (let first = 0; first < accounts; first += AT_ONCE)
    await Promise.all(
      Array.from({ length: Math.min(AT_ONCE, accounts - first) }, (_, index) =>
        writeAccount(core, first + index),
      ),
    );
  return accounts * PER_ACCOUNT;
}

async function writeAccount({ names, codec, log }: Core, number: number): Promise<void> {
  const accountId = `account-${number}`;
  const stream = names.accountStream(SCOPE, names.accountRef(SCOPE, accountId));
  const id = randomUUID();
  const envelope = {
    ...SCOPE,
    correlationId: id,
    causationId: id,
    commandId: id,
    actor: { kind: 'system', id: 'bench' },
    idempotency: null,
  } as const;
  const events = eventsOf(number, accountId);
  const ids = events.map(() => randomUUID());
  const appended = await log.append(stream, 'no-stream', await codec.encode(events, envelope, ids));
  if (appended.kind === 'conflict')
    throw new Error("another process writes to the benchmark's streams");
}

/** Half of them grant a reward, the others redeem a part of one. */
function eventsOf(number: number, accountId: string): readonly AccountEvent[] {
  const person = randomUUID();
  const events: AccountEvent[] = [];
  for (let index = 0; index < PER_ACCOUNT; index += 2) {
    const rewardId = createHash('sha256').update(`${number}.${index}`).digest('hex').slice(0, 48);
    const unit = index % 3 === 0 ? 'CENTS' : 'PTS';
    const terms = {
      cancellable: true,
      dateScheduledFor: null,
      dateExpires: null,
      referralId: null,
      programId: null,
    };
    const value = { type: 'CREDIT', unit, assignedCredit: 100 + index, currency: null } as const;
    const owner = { subject: person, value: { accountId, userId: 'u' } };
    const texts = { subject: person, value: null };
    const rest = { ...terms, texts, programVersion: null, rule: null, redeemsAutomatically: false };
    const redemption = {
      rewardId,
      person,
      rewardType: 'CREDIT',
      unit,
      redemptionId: randomUUID(),
      amount: index,
    } as const;
    events.push({
      type: 'RewardGranted',
      at: index,
      rewardId,
      person,
      owner,
      source: 'MANUAL',
      value,
      ...rest,
    });
    events.push({ type: 'CreditRedeemed', at: index, ...redemption });
  }
  return events;
}
