import type { Core } from '../../src/stores/core.js';
import type { AccountEvent } from '../../src/domain/account/account.events.js';
import type { Scope } from '../../src/domain/scope.js';
import type { Position } from '../../src/event-log/event-log.js';
import { scopeOfStream } from '../../src/privacy/keyed-names.js';
import type { Arrived } from './webhook-receivers.js';

/**
 * What endpoints are to receive, read from the log by rules of its own: of grants, redemptions and
 * new users, which is all that the load records.
 */
export class ExpectedWebhooks {
  /** By tenant, what names an announcement. */
  private readonly expected = new Map<string, Set<string>>();
  /** By append; a change of a balance shows the account's revision behind its append. */
  private readonly balances = new Map<string, BalanceChange>();

  /** @param position what is recorded after it is expected. */
  constructor(private position: Position | undefined) {}

  /** Reads the log on to its head. */
  async readOn({ log, codec }: Core): Promise<void> {
    for (;;) {
      const page = await log.readAll(this.position, 500);
      if (page.length === 0) break;
      const ofAccounts = page.filter(({ stream }) => scopeOfStream(stream) !== undefined);
      for (const { event, envelope, recorded } of await codec.decodeAll(ofAccounts)) {
        const tenant = scopeOfStream(recorded.stream)?.tenant ?? '';
        this.note(event as AccountEvent, { ...recorded, tenant, command: envelope.commandId });
      }
      this.position = page.at(-1)?.position;
    }
    for (const { tenant, stream, revision } of this.balances.values())
      this.add(tenant, `user.reward.balance.changed ${stream} ${revision + 1n}`);
    this.balances.clear();
  }

  /** What a tenant's endpoints are to receive. */
  of(tenant: string): ReadonlySet<string> {
    return this.expected.get(tenant) ?? new Set();
  }

  private note(
    event: AccountEvent,
    at: { stream: string; revision: bigint; tenant: string; command: string },
  ): void {
    const { stream, revision, tenant, command } = at;
    const append = `${stream} ${command}`;
    const balance = this.balances.get(append);
    if (balance) balance.revision = revision;
    if (event.type === 'UserIdentified') this.add(tenant, `user.created ${stream}`);
    if (event.type === 'ReferralCodeAssigned')
      this.add(tenant, `coupon.created ${event.code.value ?? ''}`);
    if (event.type === 'RewardGranted') this.add(tenant, `reward.created ${event.rewardId}`);
    if (event.type === 'RewardGranted' || event.type === 'CreditRedeemed')
      this.balances.set(append, { tenant, stream, revision });
  }

  private add(tenant: string, name: string): void {
    this.expected.set(tenant, (this.expected.get(tenant) ?? new Set()).add(name));
  }
}

interface BalanceChange {
  readonly tenant: string;
  readonly stream: string;
  revision: bigint;
}

/** The name that `ExpectedWebhooks` has for what arrived. */
export function nameOfArrived({ names }: Core, { envelope }: Arrived): string {
  const { type, tenantAlias: tenant, live, data } = envelope;
  const scope: Scope = { tenant, mode: live ? 'live' : 'test' };
  const stream = (): string =>
    names.accountStream(scope, names.accountRef(scope, String(data['accountId'])));
  switch (type) {
    case 'user.created':
      return `${type} ${stream()}`;
    case 'coupon.created':
      return `${type} ${String(data['code'])}`;
    case 'reward.created':
      return `${type} ${String(data['id'])}`;
    case 'user.reward.balance.changed':
      return `${type} ${stream()} ${String(data['resourceVersion'])}`;
    default:
      return type;
  }
}
