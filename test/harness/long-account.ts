import { randomUUID } from 'node:crypto';
import type { Core } from '../../src/stores/core.js';
import type { AccountEvent } from '../../src/domain/account/account.events.js';
import { rewardRef } from '../../src/domain/account/account.state.js';
import type { Scope } from '../../src/domain/scope.js';

const APPENDED_AT_ONCE = 500;

/** Appends redemptions of 1 to the account's first reward until its stream has so many events. */
export async function lengthenAccount(
  core: Core,
  scope: Scope,
  ref: string,
  length: number,
): Promise<void> {
  const stream = core.names.accountStream(scope, ref);
  const loaded = await core.streams.accounts.load(stream);
  const { state } = loaded;
  const reward = state.status === 'open' ? state.rewards.first() : undefined;
  if (!reward) throw new Error('the account has no reward');
  let { revision } = loaded;
  while (revision !== 'no-stream' && Number(revision) + 1 < length) {
    const count = Math.min(APPENDED_AT_ONCE, length - Number(revision) - 1);
    const at = Date.now();
    const events = Array.from({ length: count }, (): AccountEvent => ({
      type: 'CreditRedeemed',
      at,
      ...rewardRef(reward),
      redemptionId: randomUUID(),
      amount: 1,
    }));
    const id = randomUUID();
    const envelope = {
      ...scope,
      commandId: id,
      correlationId: id,
      causationId: id,
      actor: { kind: 'api-key', id: 'bench' },
      idempotency: null,
    } as const;
    const ids = events.map(() => randomUUID());
    const appended = await core.log.append(
      stream,
      revision,
      await core.codec.encode(events, envelope, ids),
    );
    if (appended.kind === 'conflict') throw new Error('another process writes to the account');
    ({ revision } = appended);
  }
  core.streams.accounts.forget(stream);
}
