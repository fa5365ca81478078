import { Command, CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import pLimit from 'p-limit';
import type { PersonId } from '../domain/account/account.events.js';
import { referralOf } from '../domain/account/former-referrals.js';
import { decide as decideAudit } from '../domain/audit/audit.decider.js';
import { sidesOf, type ModerationAction, type ModerationItem } from '../domain/moderation/moderation.decider.js';
import type { Refusal } from '../domain/refusal.js';
import type { AccountRef } from '../domain/scope.js';
import { decide as followShareLink, type FollowShareLink } from '../domain/share-link/share-link.decider.js';
import type { CommandMeta } from '../event-log/envelope.js';
import type { Position } from '../event-log/event-log.js';
import { accountOfId, type KeyedNames } from '../privacy/keyed-names.js';
import { AccountCommands, type AccountOutcome } from './account-commands.js';
import type { AccountRequest } from '../domain/account/requests/account-request.js';
import { ModerationProcess, type Sides } from './processes/moderation-process.js';
import type { Streams } from './streams.js';

/** The commands that go through Nest's CommandBus: one envelope per kind of stream, one thin handler each. */

export class AccountCommandEnvelope extends Command<AccountOutcome> {
  constructor(
    readonly meta: CommandMeta,
    readonly account: AccountRef,
    readonly request: AccountRequest,
  ) {
    super();
  }
}

@CommandHandler(AccountCommandEnvelope)
export class AccountCommandHandler implements ICommandHandler<AccountCommandEnvelope> {
  constructor(private readonly accounts: AccountCommands) {}

  execute({ meta, account, request }: AccountCommandEnvelope): Promise<AccountOutcome> {
    return this.accounts.execute(meta, account, request);
  }
}

/** Somebody followed a link that shares this code. */
export class FollowShareLinkEnvelope extends Command<void> {
  constructor(
    readonly meta: CommandMeta,
    readonly code: string,
    readonly link: Omit<FollowShareLink, 'now'>,
  ) {
    super();
  }
}

@CommandHandler(FollowShareLinkEnvelope)
export class FollowShareLinkHandler implements ICommandHandler<FollowShareLinkEnvelope> {
  constructor(
    private readonly streams: Streams,
    private readonly names: KeyedNames,
  ) {}

  async execute({ meta, code, link }: FollowShareLinkEnvelope): Promise<void> {
    const now = Date.now();
    const stream = this.names.shareLinkStream(meta.scope, code, new Date(now).toISOString().slice(0, 10));
    await this.streams.shareLinks.handle(stream, meta, () => followShareLink({ ...link, now }));
  }
}

export interface ModerationOutcome {
  /** The key was used for another request. */
  readonly refused?: Refusal;
  /** Empty: done. Else one line per reason, each beginning with the referral's id; nothing changed. */
  readonly reasons: readonly string[];
  readonly position: Position | null;
  /** The same command had been given before; this is its outcome. */
  readonly replayed: boolean;
}

export class ModerationCommandEnvelope extends Command<ModerationOutcome> {
  constructor(
    readonly meta: CommandMeta,
    readonly actions: readonly { readonly referralId: string; readonly action: ModerationAction }[],
  ) {
    super();
  }
}

/** A request names up to a hundred referrals; so many of their accounts are loaded side by side. */
const LOADS_AT_ONCE = 16;

@CommandHandler(ModerationCommandEnvelope)
export class ModerationCommandHandler implements ICommandHandler<ModerationCommandEnvelope> {
  constructor(
    private readonly process: ModerationProcess,
    private readonly streams: Streams,
    private readonly names: KeyedNames,
  ) {}

  async execute({ meta, actions }: ModerationCommandEnvelope): Promise<ModerationOutcome> {
    const asked = sidesAskedFor(actions);
    // Before anything is looked up: what the first time went through may be gone by now.
    const { moderationId, holds } = await this.process.place(meta, asked);
    if (holds === 'another-request') return { refused: 'IDEMPOTENCY_KEY_REUSED', reasons: [], position: null, replayed: false };
    if (holds === 'this-request') return { ...(await this.process.drive(meta.scope, moderationId, meta)), replayed: true };
    const known = await this.findAll(meta, new Set(actions.map(({ referralId }) => referralId)));
    const items = new Map<string, ModerationItem>();
    const reasons: string[] = [];
    for (const [referralId, sides] of asked) {
      const found = known.get(referralId);
      if (!found) reasons.push(`${referralId}: there is no such referral`);
      else items.set(referralId, { ...found, ...sides });
    }
    if (reasons.length > 0) return { reasons, position: null, replayed: false };
    return this.process.request(meta, moderationId, [...items.values()], Date.now());
  }

  /** Those that are there, by their id. */
  private async findAll(meta: CommandMeta, referralIds: ReadonlySet<string>): Promise<ReadonlyMap<string, ModerationItem>> {
    const limit = pLimit(LOADS_AT_ONCE);
    const found = await Promise.all([...referralIds].map((referralId) => limit(() => this.find(meta, referralId))));
    return new Map(found.flatMap((item) => (item ? [[item.referralId, item] as const] : [])));
  }

  private async find({ scope }: CommandMeta, referralId: string): Promise<ModerationItem | undefined> {
    const referredAccount = accountOfId(referralId);
    if (referredAccount === undefined) return undefined;
    const { state } = await this.streams.accounts.load(this.names.accountStream(scope, referredAccount));
    const referral = referralOf(state, referralId);
    if (!referral) return undefined;
    return { referralId, referred: undefined, referrer: undefined, referredAccount, referrerAccount: referral.referrer.account };
  }
}

export class AuditCommandEnvelope extends Command<Position | null> {
  constructor(
    readonly meta: CommandMeta,
    readonly account: AccountRef,
    readonly person: PersonId,
  ) {
    super();
  }
}

@CommandHandler(AuditCommandEnvelope)
export class AuditCommandHandler implements ICommandHandler<AuditCommandEnvelope> {
  constructor(
    private readonly streams: Pick<Streams, 'audits'>,
    private readonly names: KeyedNames,
  ) {}

  async execute({ meta, account, person }: AuditCommandEnvelope): Promise<Position | null> {
    const outcome = await this.streams.audits.handle(this.names.auditStream(meta.scope, account), meta, (state) =>
      decideAudit(state, { type: 'RecordLook', account, person, now: Date.now() }),
    );
    return outcome.kind === 'accepted' ? outcome.position : null;
  }
}

function sidesAskedFor(actions: ModerationCommandEnvelope['actions']): Sides {
  const asked = new Map<string, Pick<ModerationItem, 'referred' | 'referrer'>>();
  for (const { referralId, action } of actions) {
    const before = asked.get(referralId) ?? { referred: undefined, referrer: undefined };
    asked.set(referralId, { ...before, ...definedOf(sidesOf(action)) });
  }
  return asked;
}

/** Of several actions on one referral the later one counts, side by side. */
function definedOf<T extends object>(members: T): Partial<T> {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) as Partial<T>;
}
