import { AccountCommandEnvelope, type Commands } from '../command-handling/commands.js';
import { deterministicId } from '../command-handling/deterministic-id.js';
import type { ErasureProcess } from '../command-handling/processes/erasure-process.js';
import type { ModerationProcess } from '../command-handling/processes/moderation-process.js';
import type { DomainEvent } from '../domain/events.js';
import { reservationOfCustomer } from '../privacy/keyed-names.js';
import type { ReadableStreams } from '../command-handling/readable-streams.js';
import { isLedgerMode, type Scope } from '../domain/scope.js';
import { isRemoved } from '../domain/tenant/test-clock.js';
import { timeNow } from '../foundation/world.js';
import type { LedgerEvent } from '../projecting/projector.js';
import type { TenantDirectory } from '../tenants/tenant-directory.js';
import { ReactionRefused } from './describe-failure.js';
import type { Job, JobHandler, Jobs } from '../work-queue/jobs.js';
import { LedgerDates } from './ledger-dates.js';
import type { CarryOut, ProviderNote, Reaction, WaitingForAccount } from './policy.js';
import { isInUse } from '../domain/reservation/reservation.decider.js';

/** Plans mails. Missing where no mail is sent. */
export interface MailPlanner {
  plan(
    event: LedgerEvent<DomainEvent>,
    reaction: Extract<Reaction, { kind: 'mail' }>,
  ): Promise<void>;
}

/** Queues accounts for calls of the payment provider. Missing: no provider is called. */
export interface PaymentQueue {
  plan(
    event: LedgerEvent<DomainEvent>,
    reaction: Extract<Reaction, { kind: 'payment' }>,
  ): Promise<void>;
}

/** Keeps notes about payment providers outside the log. */
export interface ProviderNotes {
  note(scope: Scope, note: ProviderNote): Promise<void>;
  waits(scope: Scope, stream: string, event: WaitingForAccount): Promise<void>;
  linked(stream: string): Promise<void>;
}

/** Missing where no notes are kept. */
interface NotingParts {
  readonly mails?: MailPlanner | undefined;
  readonly providers?: ProviderNotes | undefined;
  readonly payments?: PaymentQueue | undefined;
  /** Missing where no ledger has a test clock. */
  readonly dates?: LedgerDates | undefined;
  /** Removes test data of a tenant from before a time. Missing where none is kept. */
  readonly forgetTestData?:
    ((tenant: string, removal: { since: number; ledger: number }) => Promise<void>) | undefined;
}

/** Sends commands and queues jobs, with ids made from cause and rule. */
export function carryOutReactions(
  commands: Commands,
  jobs: Pick<Jobs, 'add'>,
  streams: Pick<ReadableStreams, 'reservations'>,
  { mails, providers, payments, dates = REAL_DATES, forgetTestData }: NotingParts = {},
): CarryOut {
  return async (event, policy, reaction) => {
    const { eventId, correlationId, tenant, mode } = event;
    const scope = { tenant, mode };
    if (reaction.kind === 'job') return dates.plan(scope, reaction, (job) => jobs.add(job));
    if (reaction.kind === 'mail')
      return dates.plan(scope, reaction, (mail) => mails?.plan(event, mail));
    if (reaction.kind === 'payment')
      return dates.plan(scope, reaction, (asked) => payments?.plan(event, asked));
    if (reaction.kind === 'test-clock') return dates.moved(tenant);
    if (reaction.kind === 'test-data') return forgetTestData?.(tenant, reaction);
    if (reaction.kind === 'provider-note') return providers?.note(scope, reaction.note);
    const command =
      reaction.kind === 'customer'
        ? ((await ofCustomer(reaction.stream, streams)) ??
          (await noteWaiting(scope, reaction, { streams, providers })))
        : reaction;
    // It waits for the account that gets the customer's id.
    if (command === undefined) return;
    const meta = {
      scope,
      commandId: deterministicId(eventId, policy),
      correlationId,
      causationId: eventId,
      actor: { kind: 'policy' as const, id: policy },
      idempotency: null,
    };
    const { account, request } = command;
    const outcome = await commands.execute(new AccountCommandEnvelope(meta, account, request));
    // A command without an effect is accepted without events: a refusal means that the reaction
    // failed.
    if (outcome.kind === 'refused') throw new ReactionRefused(outcome.refused);
  };
}

const REAL_DATES = new LedgerDates({
  tenants: { readFresh: () => Promise.resolve(undefined) },
  move: () => Promise.resolve(),
});

async function ofCustomer(stream: string, { reservations }: Pick<ReadableStreams, 'reservations'>) {
  const { state } = await reservations.load(reservationOfCustomer(stream));
  return isInUse(state)
    ? { account: state.holder.account, request: { type: 'ApplyCustomer' } as const }
    : undefined;
}

/** Notes the event before the second look-up: an account may get the customer meanwhile. */
async function noteWaiting(
  scope: Scope,
  { stream, waiting }: Extract<Reaction, { kind: 'customer' }>,
  {
    streams,
    providers,
  }: Pick<NotingParts, 'providers'> & { readonly streams: Pick<ReadableStreams, 'reservations'> },
) {
  if (providers === undefined) return undefined;
  await providers.waits(scope, stream, waiting);
  const command = await ofCustomer(stream, streams);
  if (command !== undefined) await providers.linked(stream);
  return command;
}

/** The parts that jobs need. */
export interface JobWork {
  readonly commands: Commands;
  readonly moderations: ModerationProcess;
  readonly erasures: ErasureProcess;
  readonly tenants: Pick<TenantDirectory, 'readFresh'>;
  /** @param since epoch milliseconds. */
  readonly repeatJobs: (since: number) => Promise<unknown>;
}

/** The tasks of due jobs. */
export function jobHandlers({
  commands,
  moderations,
  erasures,
  tenants,
  repeatJobs,
}: JobWork): Readonly<Record<Job['task'], JobHandler>> {
  return {
    'settle-reward': async (payload) => {
      const { account = '', rewardId = '', date } = payload;
      const scope = scopeOf(payload);
      // The job is due by the logged test clock, so the decision must read the log too.
      const tenant = scope.mode === 'live' ? undefined : await tenants.readFresh(scope.tenant);
      if (tenant !== undefined && isRemoved(tenant, scope)) return;
      const commandId = deterministicId(`settle-reward/${rewardId}`, timeNow());
      const meta = { ...causeOf('settle-reward', commandId), scope, commandId };
      const request = {
        type: 'SettleReward',
        rewardId,
        ...(date !== undefined && { date: Number(date) }),
      } as const;
      return commands.execute(new AccountCommandEnvelope(meta, account, request));
    },
    'finish-moderation': (payload) => {
      const { moderationId = '' } = payload;
      const cause = causeOf('finish-moderation', moderationId);
      return moderations.drive(scopeOf(payload), moderationId, cause);
    },
    'finish-erasure': (payload) => {
      const { account = '', erasureId = '' } = payload;
      const cause = causeOf('finish-erasure', erasureId);
      return erasures.drive(scopeOf(payload), account, erasureId, cause);
    },
    'repeat-lost-jobs': ({ since = '' }) => repeatJobs(Date.parse(since)),
  };
}

const causeOf = (job: string, cause: string) => ({
  correlationId: cause,
  causationId: cause,
  actor: { kind: 'job' as const, id: job },
  idempotency: null,
});

function scopeOf({ tenant = '', mode }: Readonly<Record<string, string>>): Scope {
  if (!isLedgerMode(mode)) throw new Error('a job names no mode');
  return { tenant, mode };
}
