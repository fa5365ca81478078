import { accountProjectors } from '../projections/account-projectors.js';
import { ChainNames } from '../src/chain/chain-names.js';
import { ChainSealer } from '../src/chain/chain-sealer.js';
import { ChainSealing } from '../src/chain/chain-sealing.js';
import type { SealStores } from '../src/chain/chain-seals.js';
import { openCommandBus } from '../src/command-handling/command-bus.js';
import type { Commands } from '../src/command-handling/commands.js';
import {
  openCommandHandling,
  type CommandHandlingCore,
  type CommandHandlingParts,
} from '../src/command-handling/open-command-handling.js';
import { CachedStreams } from '../src/command-handling/stream-cache.js';
import { forgetSubjects, openStreams, type Streams } from '../src/command-handling/streams.js';
import { isOutage, isStoreUnavailable } from '../src/stores/core.js';
import { Jobs } from '../src/work-queue/jobs.js';
import { LogWatch } from '../src/stores/log-watch.js';
import type { Scope } from '../src/domain/scope.js';
import type { SubjectId } from '../src/domain/personal.js';
import type { EventCodec } from '../src/event-log/codec.js';
import type { SeenEvent } from '../src/event-log/event-log.js';
import { CommandGateway } from '../src/http/writing/command-gateway.js';
import { OwnWrites } from '../src/http/writing/own-writes.js';
import { Writes } from '../src/http/writing/writes.js';
import { StoredAnswers } from '../src/idempotency/stored-answers.js';
import { DailySyncs } from '../src/payments/incoming/daily-syncs.js';
import { PaymentEvents, recorderOf } from '../src/payments/incoming/payment-events.js';
import { PaymentNotes } from '../src/payments/incoming/payment-notes.js';
import { destroyExpiredKeys } from '../src/payments/incoming/expired-customer-keys.js';
import { RewardPayments } from '../src/payments/outgoing/reward-payments.js';
import { RewardPusher } from '../src/payments/outgoing/reward-pusher.js';
import { PaymentConnections } from '../src/payments/payment-connections.js';
import { POLICIES } from '../src/policies/policies.js';
import { PolicyRunner } from '../src/reacting/policy-runner.js';
import type { ReadingOptions } from '../src/reacting/reading-events.js';
import { carryOutReactions, jobHandlers } from '../src/reacting/reactions.js';
import { repeatJobs } from '../src/policies/repeat-jobs.js';
import { FixedSealer } from '../src/privacy/sealed-bytes.js';
import { WrappedKeys } from '../src/privacy/subject-keys.js';
import { decodeAny, decodeForProjectors } from '../src/projecting/decode-events.js';
import { Follower } from '../src/following/follower.js';
import type { Page } from '../src/projecting/page.js';
import { Projections } from '../src/projecting/following/projections.js';
import { AnnouncementsHandler } from '../src/webhooks/deliveries/announcements-handler.js';
import { WebhookSubscriptions } from '../src/webhooks/subscriptions/webhook-subscriptions.js';
import { Connection } from './connection.js';
import type { Faults } from './faults.js';
import { codecOf, olderReading, type AdditionName } from './releases.js';
import { SimulatedAnswerRows, SimulatedAnswerTable } from './simulated-answers.js';
import { SimulatedEventLog } from './simulated-event-log.js';
import { KnownNames } from './known-names.js';
import { Outages } from './outages.js';
import { simulatedWork, WorkTable } from './simulated-work.js';
import { settleSimulatedLoss } from './simulated-loss.js';
import { simulatedProviderRows, SimulatedPaymentTable } from './simulated-payments.js';
import { SimulatedProvider, type SimulatedProviderAccount } from './simulated-provider.js';
import { SimulatedKeyRows, type SimulatedVault } from './simulated-keys.js';
import {
  SimulatedLocks,
  SimulatedPolicyTable,
  simulatedPolicyStores,
} from './simulated-policy-stores.js';
import {
  SimulatedLiveGenerations,
  simulatedProjectionStores,
  SimulatedReadModels,
} from './simulated-read-models.js';
import { SEALS_SIGNER, SimulatedSealTable, simulatedSeals } from './simulated-seals.js';
import { SimulatedStore } from './simulated-store.js';
import { simulatedAnnouncementsStore, SimulatedWebhookTable } from './simulated-webhooks.js';
import { StoreAway } from './store-away.js';
import { Owner, type VirtualWorld } from './virtual-world.js';

const SILENT = { warn: () => undefined, error: () => undefined };
const POSITION_WAIT_MS = 5_000;
const SEALED_EVERY_MS = 1_000;
/** Small, so that batches end anywhere. */
const SEALED_MAX = 50;
/** The keys of the installation: the same in every run. */
export const NAMES = new KnownNames(Buffer.alloc(32, 1));
export const WRAPPING_KEY = Buffer.alloc(32, 2);
const ANSWERS_KEY = Buffer.alloc(32, 3);
const ENDPOINTS_KEY = Buffer.alloc(32, 5);
const CONNECTIONS_KEY = Buffer.alloc(32, 7);

const storesAway = (): Error => new StoreAway('the simulated database is away');

/** What all processes of the simulated service share: its stores, and who listens to whom. */
export class SharedStores {
  readonly log: SimulatedStore;
  readonly vault: SimulatedVault = new Map();
  readonly answers: SimulatedAnswerTable;
  readonly policies: SimulatedPolicyTable;
  readonly work: WorkTable;
  readonly readModels = new SimulatedReadModels(accountProjectors);
  readonly webhooks: SimulatedWebhookTable;
  readonly seals = new SimulatedSealTable();
  readonly payments: SimulatedPaymentTable;
  readonly outages = new Outages();
  readonly processes = new Set<SimulatedService>();

  constructor(world: VirtualWorld, logId: string) {
    const clock = (): number => world.now();
    this.log = new SimulatedStore(logId, clock);
    this.seals.begin(logId, SEALS_SIGNER);
    this.answers = new SimulatedAnswerTable(clock);
    this.work = new WorkTable(world, this.answers.present);
    this.policies = new SimulatedPolicyTable(clock);
    this.webhooks = new SimulatedWebhookTable(clock);
    this.payments = new SimulatedPaymentTable(clock, this.work);
  }
}

export interface ServiceParts {
  readonly world: VirtualWorld;
  readonly faults: Faults;
  /** Under which it is present, and never again. */
  readonly id: number;
  /** Of the cache of streams. */
  readonly rememberedBytes: number;
  /** Events of a batch of the read models, and rows of a piece of an erasure. */
  readonly batches: { readonly pageSize: number; readonly pieceRowsMax: number };
  /** Of the tenant; undefined: it has none. */
  readonly provider?: SimulatedProviderAccount | undefined;
  /** It is of the release before this addition; undefined: of the newest one. */
  readonly without?: AdditionName | undefined;
  /** Called at each change of a store by this process. */
  readonly onChange: (by: SimulatedService) => void;
}

interface FollowerParts {
  readonly line: Connection;
  readonly codec: EventCodec;
  readonly settle: () => Promise<void>;
}

/** What calls the payment provider, and is called by it. */
interface SimulatedPayments {
  readonly connections: PaymentConnections;
  readonly events: PaymentEvents;
  readonly plans: RewardPayments;
  readonly notes: PaymentNotes;
  readonly pusher: RewardPusher;
  readonly syncs: DailySyncs;
}

/** One process of the service: the code that ships, on simulated stores. */
export class SimulatedService {
  readonly owner: Owner;
  readonly names = NAMES;
  readonly remembered: CachedStreams;
  readonly streams: Streams;
  readonly handling: CommandHandlingCore;
  readonly commands: Commands;
  readonly gateway: CommandGateway;
  readonly policies: PolicyRunner;
  readonly follower: Follower<Page>;
  readonly webhooks: AnnouncementsHandler;
  readonly subscriptions: WebhookSubscriptions;
  /** Undefined: the tenant has no provider. */
  readonly payments: SimulatedPayments | undefined;
  readonly seals: SealStores;
  readonly locks: SimulatedLocks;
  readonly log: SimulatedEventLog;
  readonly codec: EventCodec;
  private readonly watch: LogWatch;
  private readonly decode: ReadingOptions['decode'];
  private readonly keys: WrappedKeys;
  private readonly jobs: Jobs;
  private wasFrozen = false;

  constructor(
    readonly shared: SharedStores,
    private readonly parts: ServiceParts,
  ) {
    const { world, faults, id, rememberedBytes, onChange } = parts;
    const { outages } = shared;
    shared.answers.present.add(id);
    const owner = (this.owner = new Owner(`process-${id}`));
    const line = new Connection({ world, faults, outages, onChange: () => onChange(this) });
    this.log = new SimulatedEventLog(shared.log, line, owner);
    this.keys = new WrappedKeys(
      new SimulatedKeyRows(shared.vault, line),
      new FixedSealer(WRAPPING_KEY),
    );
    const codec = (this.codec = codecOf(this.keys, parts.without));
    this.decode = decodeAny(codec);
    this.remembered = new CachedStreams(rememberedBytes);
    this.streams = openStreams(this.log, codec, this.remembered);
    this.handling = openCommandHandling({
      log: this.log,
      codec,
      names: this.names,
      keys: this.keys,
      streams: this.streams,
      ...this.announcements(line),
    });
    this.commands = openCommandBus(this.handling);
    this.jobs = new Jobs({
      store: simulatedWork(shared.work, line),
      presence: { id },
      handlers: this.jobHandlers(),
      regular: {},
      isUnavailable: isStoreUnavailable,
    });
    this.locks = new SimulatedLocks(shared.policies, line, owner);
    const settle = (noticed?: SeenEvent): Promise<void> =>
      line.write('database', storesAway, () => settleSimulatedLoss(shared, noticed));
    this.watch = new LogWatch({
      log: this.log,
      logger: SILENT,
      onLost: (from) => settle(from),
    });
    this.payments = this.openPayments(line);
    this.policies = this.openPolicies(line);
    this.webhooks = this.openWebhooks(line);
    this.subscriptions = new WebhookSubscriptions({
      commands: this.commands,
      tenants: this.handling.tenants,
      names: this.names,
      sealer: new FixedSealer(ENDPOINTS_KEY),
    });
    this.seals = (logId) => simulatedSeals(shared.seals, line, logId);
    this.follower = this.openFollower({ line, codec, settle });
    this.gateway = this.openGateway(line);
    shared.processes.add(this);
  }

  /** What one process announces to the others. */
  private announcements(
    line: Connection,
  ): Pick<CommandHandlingParts, 'announceErasure' | 'announceTenant'> {
    const { processes } = this.shared;
    return {
      announceErasure: async (subjects) => {
        this.forget(subjects);
        for (const other of processes)
          if (other !== this)
            line.announce(
              other.owner,
              () => other.forget(subjects),
              () => other.forget(),
            );
      },
      announceTenant: async (alias) => {
        for (const other of processes)
          line.announce(
            other.owner,
            () => other.handling.tenants.forget(alias),
            () => other.handling.tenants.forgetAll(),
          );
      },
    };
  }

  private openPolicies(line: Connection): PolicyRunner {
    return new PolicyRunner({
      ...(this.without && olderReading(this.without)),
      stores: simulatedPolicyStores(this.shared.policies, line),
      log: this.log,
      decode: this.decode,
      policies: POLICIES,
      isUnavailable: isOutage,
      logger: SILENT,
      carryOut: carryOutReactions(this.commands, this.jobs, this.streams, {
        providers: this.payments?.notes,
        payments: this.payments?.plans,
      }),
    });
  }

  private openPayments(line: Connection): SimulatedPayments | undefined {
    const { provider: account, faults, id } = this.parts;
    if (account === undefined) return undefined;
    const { commands, streams, names, keys } = this;
    const { tenants } = this.handling;
    const work = simulatedWork(this.shared.work, line);
    const rows = simulatedProviderRows(this.shared.payments, line);
    const sealer = new FixedSealer(CONNECTIONS_KEY);
    const connections = new PaymentConnections({ commands, tenants, sealer, keys, names });
    const calls = new SimulatedProvider({ account, line, faults });
    const provider = (): Promise<SimulatedProvider> => Promise.resolve(calls);
    const common = { tenants, connections, provider, streams, names, logger: SILENT };
    const { announceErasure: announce } = this.announcements(line);
    const forget = (gone: readonly SubjectId[]): void => this.forget(gone);
    const record = recorderOf(commands);
    return {
      connections,
      events: new PaymentEvents({ record, streams, names, connections, provider }),
      plans: new RewardPayments({ work, tenants, streams }),
      notes: new PaymentNotes(rows, names),
      pusher: new RewardPusher({ ...common, work, presence: { id }, commands }),
      syncs: new DailySyncs({
        ...common,
        work,
        rows,
        presence: { id },
        record,
        destroyExpiredKeys: () => destroyExpiredKeys({ rows, streams, keys, forget, announce }),
      }),
    };
  }

  private openWebhooks(line: Connection): AnnouncementsHandler {
    return new AnnouncementsHandler({
      store: simulatedAnnouncementsStore(this.shared.webhooks, line),
      log: this.log,
      decode: this.decode,
      streams: this.streams,
      names: this.names,
      logger: SILENT,
      receivedTypes: (scope) => this.subscriptions.receivedTypes(scope),
      translate: () => Promise.resolve(undefined),
    });
  }

  private openSealer(): ChainSealer {
    const { log, names, seals } = this;
    const chains = new ChainNames(names);
    return new ChainSealer({
      seals,
      log,
      sealing: new ChainSealing({ seals, log, chains, signer: SEALS_SIGNER, batchMax: SEALED_MAX }),
      logger: SILENT,
      everyMs: SEALED_EVERY_MS,
    });
  }

  private openFollower({ line, codec, settle }: FollowerParts): Follower<Page> {
    const { readModels } = this.shared;
    const { pieceRowsMax, ...batches } = this.parts.batches;
    const projections = new Projections({
      stores: simulatedProjectionStores(readModels, line, this.locks),
      log: this.log,
      decode: decodeForProjectors(codec),
      projectors: accountProjectors,
      generations: new SimulatedLiveGenerations(readModels, line),
      pieceRowsMax,
    });
    // The tables of two releases differ: each follows its own, and the newer one is read.
    const followed = this.without === undefined ? projections.handlers : [];
    return new Follower<Page>({
      ...projections.following,
      ...batches,
      handlers: [...followed, this.policies, this.webhooks, this.openSealer()],
      settle,
    });
  }

  private openGateway(line: Connection): CommandGateway {
    const { id } = this.parts;
    const { shared } = this;
    const rows = new SimulatedAnswerRows(shared.answers, line, id);
    const answers = new StoredAnswers(rows, new FixedSealer(ANSWERS_KEY), this.keys);
    const progress = {
      waitForProjections: () => Promise.resolve(true),
      waitForPolicies: (position: string, timeoutMs: number, signal: AbortSignal, scope: Scope) =>
        this.policies.waitFor(position, timeoutMs, signal, scope),
      projectionPositions: () => Promise.resolve(new Map()),
      policyPosition: (scope: Scope) => this.policies.reachedPosition(scope),
    };
    const ownWrites = new OwnWrites(this.log, progress, {
      timeoutMs: POSITION_WAIT_MS,
      ownWritesMs: POSITION_WAIT_MS,
    });
    const settingOff = new Set<string>(POLICIES.flatMap(({ handles }) => [...handles]));
    const writes = new Writes(answers, ownWrites, this.names, SILENT);
    // It is asked by reads.
    const unreadable = () => Promise.resolve(new Set<string>());
    return new CommandGateway(this.commands, writes, ownWrites, settingOff, unreadable);
  }

  /** What its release does not know; undefined: it is the newest one. */
  get without(): AdditionName | undefined {
    return this.parts.without;
  }

  /** Whether it has neither died nor stood still since its start: then it owes every answer. */
  get hasRunThroughout(): boolean {
    return this.owner.isAlive && !this.wasFrozen;
  }

  /** Of the streams that it may remember. */
  get rememberedMax(): number {
    return this.parts.rememberedBytes;
  }

  /** Begins to follow the log and to work through due jobs. */
  start(): void {
    const { world } = this.parts;
    world.hand(this.owner, () => {
      this.watch.start();
      this.policies.start();
      this.follower.start();
      const { payments } = this;
      if (payments !== undefined)
        payments.plans.onRequested = () => payments.pusher.worker.loop.notify();
      payments?.syncs.worker.loop.start();
      payments?.pusher.worker.loop.start();
      void this.jobs.start();
    });
  }

  private jobHandlers(): ReturnType<typeof jobHandlers> {
    const { commands, handling } = this;
    return jobHandlers({
      commands,
      moderations: handling.moderations,
      erasures: handling.erasures,
      tenants: handling.tenants,
      repeatJobs: (since) =>
        repeatJobs(
          {
            ...(this.without && olderReading(this.without)),
            log: this.log,
            decode: this.decode,
            jobs: this.jobs,
            payments: this.payments?.plans,
          },
          since,
        ),
    });
  }

  /** Evicts what it remembers of these people. */
  forget(subjects?: readonly SubjectId[]): void {
    this.keys.forget(subjects);
    forgetSubjects(this.streams, subjects);
  }

  /** It is gone, whatever it awaited. Its locks and claims lapse. */
  kill(): void {
    this.owner.kill();
    this.log.hangUp();
    this.shared.processes.delete(this);
    this.shared.answers.present.delete(this.parts.id);
    this.locks.free();
  }

  /**
   * It pauses, and continues later as if nothing had happened.
   * @param isTakenForDead whether the stores release what it holds.
   */
  freeze(isTakenForDead: boolean): void {
    this.wasFrozen = true;
    this.owner.freeze();
    if (isTakenForDead) this.locks.free();
  }

  thaw(): void {
    this.owner.thaw(this.parts.world);
  }
}
