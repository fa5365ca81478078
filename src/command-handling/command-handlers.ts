import { CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import pLimit from 'p-limit';
import { referralOf } from '../domain/account/referral/former-referrals.js';
import { decide as decideAudit } from '../domain/audit/audit.decider.js';
import { decide as decideCustomer } from '../domain/customer/customer.decider.js';
import {
  isFullAt,
  isSeen,
  WAITS_MS,
  type CustomerState,
} from '../domain/customer/customer.state.js';
import { decide as decideExport } from '../domain/export/export.decider.js';
import { sidesOf, type ModerationItem } from '../domain/moderation/moderation.decider.js';
import { decide as decideOperation } from '../domain/operation/operation.decider.js';
import { decide as decidePeriod } from '../domain/period/period.decider.js';
import { endProposal, propose } from '../domain/proposal/proposal.decider.js';
import { personal, type SubjectId } from '../domain/personal.js';
import { refused, type Refused } from '../domain/refusal.js';
import { decide as decideVisits } from '../domain/share-link/share-link.decider.js';
import { decide as decideRegister } from '../domain/tenant/tenant-register.decider.js';
import {
  decide as decideTenant,
  type OpenTenant,
  type TenantEvent,
  type TenantState,
} from '../domain/tenant/tenant.decider.js';
import { record as recordTheme } from '../domain/theme/theme.decider.js';
import type { CommandMeta } from '../event-log/envelope.js';
import type { Position } from '../event-log/event-log.js';
import { newId, timeNow } from '../foundation/world.js';
import { accountOfId, reservationOfCustomer, type KeyedNames } from '../privacy/keyed-names.js';
import {
  AuditCommandEnvelope,
  CountVisitsEnvelope,
  ExportCommandEnvelope,
  ModerationCommandEnvelope,
  OperationCommandEnvelope,
  PeriodCommandEnvelope,
  EndProposalEnvelope,
  ProposalCommandEnvelope,
  ProviderEventEnvelope,
  type RecordedEvent,
  RepeatErasureEnvelope,
  TenantCommandEnvelope,
  ThemeCommandEnvelope,
  WebhookCommandEnvelope,
  type ExportOutcome,
  type ModerationOutcome,
  type PeriodOutcome,
  type ProposalOutcome,
  type WebhookOutcome,
} from './commands.js';
import { deterministicId } from './deterministic-id.js';
import type { ErasureProcess } from './processes/erasure-process.js';
import type { ModerationProcess, RequestedSides } from './processes/moderation-process.js';
import { proposalDays } from './proposal-days.js';
import type { Decide } from './outcome.js';
import type { Streams } from './streams.js';
import { isInUse } from '../domain/reservation/reservation.decider.js';

/** What the handlers are made of. */
export interface HandlerParts {
  readonly streams: Streams;
  readonly names: KeyedNames;
  readonly erasures: ErasureProcess;
  /** Notifies every process that a tenant has changed. */
  readonly announceTenant: (alias: string) => Promise<void>;
}

/** One handler for each command of commands.ts; AccountCommands is that of an account. */

export const countVisits =
  ({ streams, names }: HandlerParts) =>
  async ({ meta, code, day, counted }: CountVisitsEnvelope): Promise<void> => {
    const stream = names.shareLinkStream(meta.scope, code, day);
    await streams.shareLinks.handle(stream, meta, () =>
      decideVisits({ ...counted, now: timeNow() }),
    );
  };

/**
 * A request names up to a hundred referrals; their accounts are loaded in parallel, up to this
 * many.
 */
const LOADS_AT_ONCE = 16;

@CommandHandler(ModerationCommandEnvelope)
export class ModerationCommandHandler implements ICommandHandler<ModerationCommandEnvelope> {
  constructor(
    private readonly process: ModerationProcess,
    private readonly streams: Streams,
    private readonly names: KeyedNames,
  ) {}

  async execute({ meta, actions }: ModerationCommandEnvelope): Promise<ModerationOutcome> {
    const asked = requestedSides(actions);
    // Before the referrals are looked up: those that the first attempt changed may be gone by now.
    const { moderationId, holds } = await this.process.locate(meta);
    if (holds === 'another-request')
      return { refused: 'IDEMPOTENCY_KEY_REUSED', reasons: [], position: null, replayed: false };
    if (holds === 'this-request') {
      const driven = await this.process.drive(meta.scope, moderationId, meta);
      if (driven !== 'absent') return { ...driven, replayed: true };
      // The log lost the request meanwhile: it is a new one.
    }
    const known = await this.findAll(meta, new Set(actions.map(({ referralId }) => referralId)));
    const items = new Map<string, ModerationItem>();
    const reasons: string[] = [];
    for (const [referralId, sides] of asked) {
      const found = known.get(referralId);
      if (!found) reasons.push(`${referralId}: there is no such referral`);
      else items.set(referralId, { ...found, ...sides });
    }
    if (reasons.length > 0) return { reasons, position: null, replayed: false };
    return this.process.request(meta, moderationId, [...items.values()], timeNow());
  }

  /** The existing ones, by id. */
  private async findAll(
    meta: CommandMeta,
    referralIds: ReadonlySet<string>,
  ): Promise<ReadonlyMap<string, ModerationItem>> {
    const limit = pLimit(LOADS_AT_ONCE);
    const found = await Promise.all(
      [...referralIds].map((referralId) => limit(() => this.find(meta, referralId))),
    );
    return new Map(found.flatMap((item) => (item ? [[item.referralId, item] as const] : [])));
  }

  private async find(
    { scope }: CommandMeta,
    referralId: string,
  ): Promise<ModerationItem | undefined> {
    const referredAccount = accountOfId(referralId);
    if (referredAccount === undefined) return undefined;
    const { state } = await this.streams.accounts.load(
      this.names.accountStream(scope, referredAccount),
    );
    const referral = referralOf(state, referralId);
    if (!referral) return undefined;
    return {
      referralId,
      referred: undefined,
      referrer: undefined,
      referredAccount,
      referrerAccount: referral.referrer.account,
    };
  }
}

export const recordLook =
  ({ streams, names }: HandlerParts) =>
  async ({ meta, account, person }: AuditCommandEnvelope): Promise<Position | null> => {
    const outcome = await streams.audits.handle(
      names.auditStream(meta.scope, account),
      meta,
      (state) => decideAudit(state, { type: 'RecordLook', account, person, now: timeNow() }),
    );
    return outcome.kind === 'accepted' ? outcome.position : null;
  };

@CommandHandler(TenantCommandEnvelope)
export class TenantCommandHandler implements ICommandHandler<TenantCommandEnvelope> {
  constructor(
    private readonly streams: Pick<Streams, 'tenants' | 'tenantRegister'>,
    private readonly names: KeyedNames,
    private readonly announce: (alias: string) => Promise<void>,
  ) {}

  async execute({ meta, command, unless }: TenantCommandEnvelope): Promise<OpenTenant | Refused> {
    const alias = meta.scope.tenant;
    if (command.type === 'CreateTenant') await this.enterAlias(meta, alias);
    const stream = this.names.tenantStream(alias);
    const decideUnless: Decide<TenantState, TenantEvent> = async (state) => {
      const refusal = state.status === 'open' ? await unless?.(state) : undefined;
      return refusal ?? decideTenant(state, command);
    };
    const outcome = await this.streams.tenants.handle(stream, meta, decideUnless, {
      type: command.type,
    });
    if (outcome.kind === 'refused') return refused(outcome.refused, ...outcome.details);
    // The change is recorded. A failed announcement must not lose keys that are shown only once.
    await this.announce(alias).catch(() => undefined);
    if (outcome.kind !== 'accepted' || outcome.state.status === 'absent')
      throw new Error('a changed tenant is missing');
    return outcome.state;
  }

  private async enterAlias(meta: CommandMeta, alias: string): Promise<void> {
    const register = this.names.tenantRegisterStream();
    await this.streams.tenantRegister.handle(register, { ...meta, commandId: newId() }, (state) =>
      decideRegister(state, { type: 'EnterAlias', alias, now: timeNow() }),
    );
  }
}

export const changeWebhooks =
  ({ streams, names, announceTenant }: HandlerParts) =>
  async ({ meta, command }: WebhookCommandEnvelope): Promise<WebhookOutcome> => {
    const { tenant: alias, mode } = meta.scope;
    const { idempotency } = meta;
    // The stream is that of both modes, and a key belongs to one of them.
    const ofMode = idempotency && { ...idempotency, key: `${mode} ${idempotency.key}` };
    const outcome = await streams.tenants.handle(
      names.tenantStream(alias),
      { ...meta, idempotency: ofMode },
      (state) => decideTenant(state, command),
      { type: command.type },
    );
    if (outcome.kind === 'refused') return { refused: outcome.refused, details: outcome.details };
    await announceTenant(alias).catch(() => undefined);
    if (outcome.kind !== 'accepted' || outcome.state.status === 'absent')
      throw new Error('a changed tenant is missing');
    const { state: tenant, position, replayed } = outcome;
    return { tenant, position, replayed };
  };

export const changePeriod =
  ({ streams, names }: HandlerParts) =>
  async ({ meta, command }: PeriodCommandEnvelope): Promise<PeriodOutcome> => {
    const stream = names.periodsStream(meta.scope);
    const outcome = await streams.periods.handle(
      stream,
      meta,
      (state) => decidePeriod(state, command),
      { type: command.type },
    );
    if (outcome.kind === 'refused') return { refused: outcome.refused };
    if (outcome.kind !== 'accepted')
      throw new Error('a period command was neither accepted nor refused');
    return { position: outcome.position };
  };

export const stepExport =
  ({ streams, names }: HandlerParts) =>
  async ({ meta, exportId, command, reserve }: ExportCommandEnvelope): Promise<ExportOutcome> => {
    const stream = names.exportStream(meta.scope, exportId);
    const outcome = await streams.exports.handle(stream, meta, async (state) => {
      if (command.type !== 'RequestExport' || state.status !== 'absent')
        return decideExport(state, command);
      return decideExport(state, { ...command, hasRoom: await reserve() });
    });
    if (outcome.kind === 'refused') return { refused: outcome.refused, details: outcome.details };
    if (outcome.kind !== 'accepted')
      throw new Error('a step of an export was neither accepted nor refused');
    const { state, position, events, replayed } = outcome;
    return { state, position, changed: events.length > 0, replayed };
  };

export const recordOperation =
  ({ streams, names }: HandlerParts) =>
  async ({ meta, operation }: OperationCommandEnvelope): Promise<Position | null> => {
    const day = new Date(operation.now).toISOString().slice(0, 10);
    const stream = names.operationsStream(meta.scope, day);
    const outcome = await streams.operations.handle(stream, meta, () => decideOperation(operation));
    return outcome.kind === 'accepted' ? outcome.position : null;
  };

export const recordThemeChange =
  ({ streams, names }: HandlerParts) =>
  async ({ meta, event }: ThemeCommandEnvelope): Promise<Position> => {
    const day = new Date(event.at).toISOString().slice(0, 10);
    const stream = names.themeStream(meta.scope, day);
    const outcome = await streams.themes.handle(stream, meta, (recorded) =>
      recordTheme(recorded, event),
    );
    if (outcome.kind !== 'accepted' || outcome.position === null)
      throw new Error('a change of a theme was not recorded');
    return outcome.position;
  };

@CommandHandler(ProposalCommandEnvelope)
export class ProposalCommandHandler implements ICommandHandler<ProposalCommandEnvelope> {
  constructor(
    private readonly streams: Pick<Streams, 'accounts' | 'proposals'>,
    private readonly names: KeyedNames,
  ) {}

  async execute({ meta, correction }: ProposalCommandEnvelope): Promise<ProposalOutcome> {
    const { streams, names } = this;
    const { scope, commandId } = meta;
    const account = names.accountRef(scope, correction.accountId);
    const day = await this.dayOf(meta);
    const outcome = await streams.proposals.handle(
      names.proposalsStream(scope, day),
      meta,
      async (state) => {
        const loaded = await streams.accounts.load(names.accountStream(scope, account));
        const proposalId = deterministicId(commandId, 'proposal').replaceAll('-', '');
        const command = { ...correction, proposalId, account, now: timeNow() };
        return propose(state, loaded.state, command);
      },
    );
    if (outcome.kind === 'refused') return { refused: outcome.refused, details: outcome.details };
    const [proposal] = outcome.kind === 'accepted' ? outcome.events : [];
    if (outcome.kind !== 'accepted' || proposal?.type !== 'CorrectionProposed')
      throw new Error('a proposal was not recorded');
    return { proposal, day, position: outcome.position, replayed: outcome.replayed };
  }

  /** Today, unless an earlier attempt with the same key recorded it on another day. */
  private async dayOf(meta: CommandMeta): Promise<string> {
    const days = proposalDays(timeNow());
    const [today = '', ...earlier] = days;
    if (meta.idempotency === null) return today;
    for (const day of earlier) {
      const stream = this.names.proposalsStream(meta.scope, day);
      if ((await this.streams.proposals.load(stream)).handled.find(meta)) return day;
    }
    return today;
  }
}

export const recordEndOfProposal =
  ({ streams, names }: HandlerParts) =>
  async ({ meta, day, event }: EndProposalEnvelope): Promise<boolean> => {
    const stream = names.proposalsStream(meta.scope, day);
    const outcome = await streams.proposals.handle(stream, meta, (state) =>
      endProposal(state, event),
    );
    return outcome.kind === 'accepted';
  };

@CommandHandler(ProviderEventEnvelope)
export class ProviderEventHandler implements ICommandHandler<ProviderEventEnvelope> {
  constructor(
    private readonly streams: Pick<Streams, 'customers' | 'reservations'>,
    private readonly names: KeyedNames,
  ) {}

  async execute({
    meta,
    customer,
    eventId,
    event: { ids, subscription, left, ...event },
  }: ProviderEventEnvelope): Promise<RecordedEvent> {
    const { names } = this;
    const refOf = (kind: 'invoice' | 'subscription', id: string | null): string | null =>
      id && names.providerObjectRef(meta.scope, kind, id);
    const refs = {
      invoice: refOf('invoice', ids.invoice),
      subscription: refOf('subscription', subscription),
      left: left.map((id) => names.providerObjectRef(meta.scope, 'subscription', id)),
    };
    const eventRef = names.providerEventRef(meta.scope, eventId);
    let isFull = false;
    const stream =
      customer === null
        ? names.providerEventStream(meta.scope, eventId)
        : names.customerStream(meta.scope, customer);
    const outcome = await this.streams.customers.handle(stream, meta, async (state) => {
      const at = timeNow();
      isFull = isFullAt(state, at) && !isSeen(state, eventRef);
      if (isFull) return { events: [] };
      return decideCustomer(state, {
        ...event,
        at,
        eventRef,
        // Of what has no effect the hash of its id is enough.
        ...(event.fact.kind === 'IGNORED'
          ? { ids: { subject: newId(), value: null }, refs: null }
          : { ids: personal(await this.subjectOf(stream, state), ids), refs }),
      });
    });
    if (outcome.kind !== 'accepted') throw new Error('an event of the provider was not recorded');
    if (isFull) return 'full';
    return outcome.events.length > 0 ? 'recorded' : 'repeated';
  }

  /**
   * A customer has one key as long as an account has it. Otherwise a key is used for the days that
   * events wait, so that it can end. After an erasure the customer, who may get another account,
   * has another one, too.
   */
  private async subjectOf(
    stream: string,
    { subject, subjectSince }: CustomerState,
  ): Promise<SubjectId> {
    if (subject === null) return newId();
    if (timeNow() - subjectSince < WAITS_MS) return subject;
    const { state } = await this.streams.reservations.load(reservationOfCustomer(stream));
    return isInUse(state) ? subject : newId();
  }
}

export const repeatErasure =
  ({ erasures }: HandlerParts) =>
  ({ cause, erasure, customerStream }: RepeatErasureEnvelope): Promise<void> =>
    erasures.repeat(erasure, customerStream, cause);

function requestedSides(actions: ModerationCommandEnvelope['actions']): RequestedSides {
  const asked = new Map<string, Pick<ModerationItem, 'referred' | 'referrer' | 'seen'>>();
  for (const { referralId, action, seen } of actions) {
    const before = asked.get(referralId) ?? { referred: undefined, referrer: undefined };
    asked.set(referralId, { ...before, ...definedOf({ ...sidesOf(action), seen }) });
  }
  return asked;
}

/** A later action on a referral replaces an earlier one, for each side separately. */
function definedOf<T extends object>(members: T): Partial<T> {
  return Object.fromEntries(
    Object.entries(members).filter(([, value]) => value !== undefined),
  ) as Partial<T>;
}
