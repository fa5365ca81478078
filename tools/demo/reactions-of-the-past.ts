import { randomUUID } from 'node:crypto';
import { AccountCommandEnvelope } from '../../src/command-handling/commands.js';
import type { Core } from '../../src/stores/core.js';
import type { DomainEvent } from '../../src/domain/events.js';
import type { Scope } from '../../src/domain/scope.js';
import type { Position } from '../../src/event-log/event-log.js';
import { POLICIES } from '../../src/policies/policies.js';
import type { CarryOut } from '../../src/reacting/policy.js';
import { carryOutReactions } from '../../src/reacting/reactions.js';
import { decodeAny } from '../../src/projecting/decode-events.js';
import type { LedgerEvent } from '../../src/projecting/projector.js';

const PAGE = 500;

interface DueReward {
  readonly account: string;
  readonly rewardId: string;
  readonly runAt: number;
}

/**
 * What the policies of a service do, at the clock of the past. Ids are made from event and rule: a
 * service that starts later carries out the same reactions, which then change nothing.
 */
export class ReactionsOfThePast {
  private due: DueReward[] = [];
  private readonly carryOut: CarryOut;
  private readonly decode: ReturnType<typeof decodeAny>;

  private constructor(
    private readonly core: Core,
    private readonly scope: Scope,
    private readonly onEvent: (event: LedgerEvent<DomainEvent>) => void,
    private after: Position | undefined,
  ) {
    this.decode = decodeAny(core.codec);
    const add = async (job: {
      readonly task: string;
      readonly payload: Readonly<Record<string, string>>;
      readonly runAt: number;
    }): Promise<void> => {
      const { account = '', rewardId = '' } = job.payload;
      if (job.task === 'settle-reward') this.due.push({ account, rewardId, runAt: job.runAt });
    };
    this.carryOut = carryOutReactions(core.commands, { add }, core.streams);
  }

  /** To what is recorded from now on. @param onEvent called with each event of the scope. */
  static async from(
    core: Core,
    scope: Scope,
    onEvent: (event: LedgerEvent<DomainEvent>) => void,
  ): Promise<ReactionsOfThePast> {
    return new ReactionsOfThePast(core, scope, onEvent, await core.log.head());
  }

  /** Records what became available or expired up to this moment. */
  async settle(now: number): Promise<void> {
    const due = this.due.filter(({ runAt }) => runAt <= now);
    this.due = this.due.filter(({ runAt }) => runAt > now);
    for (const { account, rewardId } of due) {
      const id = randomUUID();
      const meta = {
        scope: this.scope,
        commandId: id,
        correlationId: id,
        causationId: id,
        actor: { kind: 'job', id: 'settle-reward' },
        idempotency: null,
      } as const;
      const request = { type: 'SettleReward', rewardId } as const;
      await this.core.commands.execute(new AccountCommandEnvelope(meta, account, request));
    }
  }

  /** Reacts until nothing more is recorded. */
  async toAll(): Promise<void> {
    for (;;) {
      const page = await this.core.log.readAll(this.after, PAGE);
      this.after = page.at(-1)?.position ?? this.after;
      if (page.length === 0) return;
      for (const decoded of await this.decode(page)) {
        if ('undecodable' in decoded) throw new Error(decoded.undecodable);
        if (decoded.tenant === this.scope.tenant) await this.toOne(decoded);
      }
    }
  }

  private async toOne(event: LedgerEvent<DomainEvent>): Promise<void> {
    this.onEvent(event);
    for (const policy of POLICIES) {
      if (!policy.handles.has(event.event.type)) continue;
      for (const reaction of policy.react(event)) await this.carryOut(event, policy.name, reaction);
    }
  }
}
