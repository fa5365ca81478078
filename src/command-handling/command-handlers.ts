import pLimit from 'p-limit';
import type { ReferralState } from '../domain/account/account.state.js';
import { referralOf } from '../domain/account/referral/former-referrals.js';
import { decide as decideAudit } from '../domain/audit/audit.decider.js';
import { decide as decideCustomer } from '../domain/customer/customer.decider.js';
import {
  isDayFull,
  isSeen,
  WAITS_MS,
  type CustomerState,
} from '../domain/customer/customer.state.js';
import {
  decide as decideExport,
  type ExportEvent,
  type ExportState,
} from '../domain/export/export.decider.js';
import { sidesOf } from '../domain/moderation/moderation.decider.js';
import { decide as decideOperation } from '../domain/operation/operation.decider.js';
import { decide as decidePeriod } from '../domain/period/period.decider.js';
import {
  endProposal,
  propose,
  type ProposalEvent,
  type ProposalsState,
} from '../domain/proposal/proposal.decider.js';
import { personal, type SubjectId } from '../domain/personal.js';
import { scopeOfMode } from '../domain/scope.js';
import { refused, type Refused } from '../domain/refusal.js';
import { decide as decideVisits } from '../domain/share-link/share-link.decider.js';
import { decide as decideRegister } from '../domain/tenant/tenant-register.decider.js';
import {
  decide as decideTenant,
  type TenantEvent,
  type TenantState,
} from '../domain/tenant/tenant.decider.js';
import { record as recordTheme } from '../domain/theme/theme.decider.js';
import type { Position } from '../event-log/event-log.js';
import { newId, timeNow } from '../foundation/world.js';
import { accountOfId, reservationOfCustomer, type KeyedNames } from '../privacy/keyed-names.js';
import type {
  AuditCommandEnvelope,
  CountVisitsEnvelope,
  ExportCommandEnvelope,
  ModerationCommandEnvelope,
  OperationCommandEnvelope,
  PeriodCommandEnvelope,
  EndProposalEnvelope,
  ProposalCommandEnvelope,
  ProviderEventEnvelope,
  RecordedEvent,
  RepeatErasureEnvelope,
  TenantCommandEnvelope,
  ThemeCommandEnvelope,
  ExportOutcome,
  ModerationOutcome,
  PeriodOutcome,
  ProposalOutcome,
  TenantOutcome,
} from './commands.js';
import { deterministicId } from './deterministic-id.js';
import type { ErasureProcess } from './processes/erasure-process.js';
import type {
  ModerationProcess,
  RequestedSides,
  RequestedSideChanges,
} from './processes/moderation-process.js';
import { dayOfEarlierAttempt, proposalDays } from './proposal-days.js';
import type { Decide, Outcome } from './outcome.js';
import type { Streams } from './streams.js';
import type { TenantDirectory } from '../tenants/tenant-directory.js';
import { isInUse } from '../domain/reservation/reservation.decider.js';

export interface HandlerParts {
  readonly streams: Streams;
  readonly names: KeyedNames;
  readonly erasures: ErasureProcess;
  readonly moderations: ModerationProcess;
  readonly tenants: Pick<TenantDirectory, 'now'>;
  /** Notifies every process that a tenant has changed. */
  readonly announceTenant: (alias: string) => Promise<void>;
}

/** Only commands of accounts end in a hold or in needs. */
function settled<S, E>(
  outcome: Outcome<S, E>,
): Extract<Outcome<S, E>, { kind: 'accepted' }> | Refused {
  if (outcome.kind === 'accepted') return outcome;
  if (outcome.kind === 'refused') return refused(outcome.refused, ...outcome.details);
  throw new Error('a command was neither accepted nor refused');
}

/** One handler per command of commands.ts, except AccountCommands. */

export const countVisits =
  ({ streams, names }: HandlerParts) =>
  async ({ meta, code, day, counted }: CountVisitsEnvelope): Promise<void> => {
    const stream = names.shareLinkStream(meta.scope, code, day);
    await streams.shareLinks.handle(stream, meta, () =>
      decideVisits({ ...counted, now: timeNow() }),
    );
  };

/** Accounts that are loaded in parallel for a request with up to a hundred referrals. */
const LOADS_AT_ONCE = 16;

export const moderate =
  ({ moderations, streams, names, tenants }: HandlerParts) =>
  async ({ meta, actions }: ModerationCommandEnvelope): Promise<ModerationOutcome> => {
    // Located before the look-up of referrals: those of the first attempt may be gone by now.
    const { moderationId, holds } = await moderations.locate(meta);
    if (holds === 'another-request')
      return { refused: 'IDEMPOTENCY_KEY_REUSED', reasons: [], position: null, replayed: false };
    if (holds === 'this-request') {
      const driven = await moderations.drive(meta.scope, moderationId, meta);
      if (driven !== 'absent') return { ...driven, replayed: true };
      // The log lost the request: it is a new one.
    }
    const asked = [...requestedSides(actions)];
    const itemOf = async ([referralId, sides]: (typeof asked)[number]) => {
      const referredAccount = accountOfId(referralId);
      if (referredAccount === undefined) return undefined;
      const stream = names.accountStream(meta.scope, referredAccount);
      const referral = referralOf((await streams.accounts.load(stream)).state, referralId);
      if (!referral) return undefined;
      const { referred, referrer, reason, ...seen } = sides;
      const accounts = { referredAccount, referrerAccount: referral.referrer.account };
      const why = reason === undefined ? {} : { reason: reasonsFor(referral, reason) };
      return { referralId, referred, referrer, ...accounts, ...seen, ...why };
    };
    const limit = pLimit(LOADS_AT_ONCE);
    const items = await Promise.all(asked.map((one) => limit(() => itemOf(one))));
    const reasons = asked.flatMap(([referralId], index) =>
      items[index] ? [] : `${referralId}: there is no such referral`,
    );
    if (reasons.length > 0) return { reasons, position: null, replayed: false };
    const found = items.filter((item) => item !== undefined);
    return moderations.request(meta, moderationId, found, await tenants.now(meta.scope));
  };

const reasonsFor = ({ referred, referrer }: ReferralState, reason: string) => ({
  referred: personal(referred.person, reason),
  referrer: personal(referrer.person, reason),
});

export const recordAccess =
  ({ streams, names }: HandlerParts) =>
  async ({ meta, account, person }: AuditCommandEnvelope): Promise<Position | null> => {
    const stream = names.auditStream(meta.scope, account);
    const outcome = await streams.audits.handle(stream, meta, () =>
      decideAudit({ account, person, now: timeNow() }),
    );
    return outcome.kind === 'accepted' ? outcome.position : null;
  };

export const changeTenant =
  ({
    streams,
    names,
    announceTenant,
  }: Pick<HandlerParts, 'streams' | 'names' | 'announceTenant'>) =>
  async ({ meta, command, unless }: TenantCommandEnvelope): Promise<TenantOutcome> => {
    const { type } = command;
    const alias = meta.scope.tenant;
    if (type === 'CreateTenant') {
      const entry = { ...meta, commandId: newId() };
      await streams.tenantRegister.handle(names.tenantRegisterStream(), entry, (state) =>
        decideRegister(state, { type: 'EnterAlias', alias, now: timeNow() }),
      );
    }
    const decideUnless: Decide<TenantState, TenantEvent> = async (state) => {
      const refusal = state.status === 'open' ? await unless?.(state) : undefined;
      return refusal ?? decideTenant(state, command);
    };
    const stream = names.tenantStream(alias);
    const changed = settled(await streams.tenants.handle(stream, meta, decideUnless, { type }));
    if ('refused' in changed) return changed;
    // The change is recorded. A failed announcement must not lose keys that are shown only once.
    await announceTenant(alias).catch(() => undefined);
    const { state: tenant, position, replayed } = changed;
    if (tenant.status === 'absent') throw new Error('a changed tenant is missing');
    return { tenant, position, replayed };
  };

export const changePeriod =
  ({ streams, names }: HandlerParts) =>
  async ({ meta, command }: PeriodCommandEnvelope): Promise<PeriodOutcome> => {
    const stream = names.periodsStream(meta.scope);
    const { type } = command;
    return settled(
      await streams.periods.handle(stream, meta, (state) => decidePeriod(state, command), { type }),
    );
  };

export const stepExport =
  ({ streams, names }: HandlerParts) =>
  async ({ meta, exportId, command, reserve }: ExportCommandEnvelope): Promise<ExportOutcome> => {
    const stream = names.exportStream(meta.scope, exportId);
    const decideStep: Decide<ExportState, ExportEvent> = async (state) => {
      if (command.type !== 'RequestExport' || state.status !== 'absent')
        return decideExport(state, command);
      return decideExport(state, { ...command, hasRoom: await reserve() });
    };
    const stepped = settled(await streams.exports.handle(stream, meta, decideStep));
    if ('refused' in stepped) return stepped;
    const { state, position, events, replayed } = stepped;
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
    const scope = scopeOfMode(meta.scope);
    const stream = names.themeStream(scope, day);
    const outcome = await streams.themes.handle(stream, { ...meta, scope }, (recorded) =>
      recordTheme(recorded, event),
    );
    if (outcome.kind !== 'accepted' || outcome.position === null)
      throw new Error('a change of a theme was not recorded');
    return outcome.position;
  };

export const proposeCorrection =
  ({ streams, names, tenants }: HandlerParts) =>
  async ({ meta, correction }: ProposalCommandEnvelope): Promise<ProposalOutcome> => {
    const { scope, commandId } = meta;
    const account = names.accountRef(scope, correction.accountId);
    const [today = ''] = proposalDays(timeNow());
    const day = (await dayOfEarlierAttempt({ streams, names }, meta)) ?? today;
    const proposeNow: Decide<ProposalsState, ProposalEvent> = async (state) => {
      const loaded = await streams.accounts.load(names.accountStream(scope, account));
      const proposalId = deterministicId(commandId, 'proposal').replaceAll('-', '');
      const now = timeNow();
      const corrects = { ...correction, proposalId, account, ledgerNow: await tenants.now(scope) };
      return propose(state, loaded.state, { ...corrects, now });
    };
    const stream = names.proposalsStream(scope, day);
    const proposed = settled(await streams.proposals.handle(stream, meta, proposeNow));
    if ('refused' in proposed) return proposed;
    const { events, position, replayed } = proposed;
    const [proposal] = events;
    if (proposal?.type !== 'CorrectionProposed') throw new Error('a proposal was not recorded');
    return { proposal, day, position, replayed };
  };

export const recordEndOfProposal =
  ({ streams, names }: HandlerParts) =>
  async ({ meta, day, event }: EndProposalEnvelope): Promise<boolean> => {
    const stream = names.proposalsStream(meta.scope, day);
    const outcome = await streams.proposals.handle(stream, meta, (state) =>
      endProposal(state, event),
    );
    return outcome.kind === 'accepted';
  };

export const recordProviderEvent =
  ({ streams, names, tenants }: HandlerParts) =>
  async (envelope: ProviderEventEnvelope): Promise<RecordedEvent> => {
    const { meta, customer, eventId } = envelope;
    const { ids, subscription, left, ...event } = envelope.event;
    const refOf = (kind: 'invoice' | 'subscription', id: string | null): string | null =>
      id && names.providerObjectRef(meta.scope, kind, id);
    const refs = {
      invoice: refOf('invoice', ids.invoice),
      subscription: refOf('subscription', subscription),
      left: left.map((id) => names.providerObjectRef(meta.scope, 'subscription', id)),
    };
    const eventRef = names.providerEventRef(meta.scope, eventId);
    let isFull = false;
    const real = timeNow();
    const aheadMs = (await tenants.now(meta.scope, real)) - real;
    const stream =
      customer === null
        ? names.providerEventStream(meta.scope, eventId)
        : names.customerStream(meta.scope, customer);
    const outcome = await streams.customers.handle(stream, meta, async (state) => {
      const at = timeNow();
      isFull = isDayFull(state, at) && !isSeen(state, eventRef);
      if (isFull) return { events: [] };
      return decideCustomer(state, {
        ...event,
        at,
        ...(aheadMs > 0 && { aheadMs }),
        eventRef,
        // An ignored event needs only the hash of its id.
        ...(event.fact.kind === 'IGNORED'
          ? { ids: { subject: newId(), value: null }, refs: null }
          : { ids: personal(await subjectOf(streams, stream, state), ids), refs }),
      });
    });
    if (outcome.kind !== 'accepted') throw new Error('an event of the provider was not recorded');
    if (isFull) return 'full';
    return outcome.events.length > 0 ? 'recorded' : 'repeated';
  };

/**
 * The key of a customer's ids: one while an account has the customer, otherwise one for the days
 * that events wait, so that it can end. After an erasure the customer gets another key.
 */
async function subjectOf(
  { reservations }: Streams,
  stream: string,
  { subject, subjectSince }: CustomerState,
): Promise<SubjectId> {
  if (subject === null) return newId();
  if (timeNow() - subjectSince < WAITS_MS) return subject;
  const { state } = await reservations.load(reservationOfCustomer(stream));
  return isInUse(state) ? subject : newId();
}

export const repeatErasure =
  ({ erasures }: HandlerParts) =>
  ({ cause, erasure, customerStream }: RepeatErasureEnvelope): Promise<void> =>
    erasures.repeat(erasure, customerStream, cause);

function requestedSides(actions: ModerationCommandEnvelope['actions']): RequestedSides {
  const asked = new Map<string, RequestedSideChanges>();
  for (const { referralId, action, ...others } of actions) {
    const before = asked.get(referralId) ?? { referred: undefined, referrer: undefined };
    asked.set(referralId, { ...before, ...definedOf({ ...sidesOf(action), ...others }) });
  }
  return asked;
}

/** A later action on a referral replaces an earlier one, for each side separately. */
function definedOf<T extends object>(members: T): Partial<T> {
  return Object.fromEntries(
    Object.entries(members).filter(([, value]) => value !== undefined),
  ) as Partial<T>;
}
