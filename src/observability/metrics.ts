import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import type { ChainSealer } from '../chain/chain-sealer.js';
import type { HandlerStatus } from '../following/handler-status.js';
import type { EventLogObserver } from '../event-log/event-log-observer.js';
import { timeNow } from '../foundation/world.js';
import type { MailSenderStatus } from '../mails/deliveries/mail-sender.js';
import type { WaitingMails } from '../mails/deliveries/shown-mails.js';
import type { Mails } from '../mails/mails.js';
import type { DailySyncs } from '../payments/incoming/daily-syncs.js';
import type { RewardPusher } from '../payments/outgoing/reward-pusher.js';
import type { PaymentFigures } from '../payments/payment-figures.js';
import type { PolicyRunner, PolicyStatus } from '../reacting/policy-runner.js';
import type {
  AnnouncementsHandler,
  WebhooksStatus,
} from '../webhooks/deliveries/announcements-handler.js';
import type { SenderStatus, WebhookSender } from '../webhooks/deliveries/webhook-sender.js';
import type { Follower } from '../following/follower.js';
import type { Projections } from '../projecting/following/projections.js';
import type { Page } from '../projecting/page.js';

interface WatchedRunners {
  readonly clock: { readonly aheadSeconds: number };
  readonly follower: Follower<Page>;
  readonly projections: Projections;
  readonly policies: PolicyRunner;
  readonly sealer: ChainSealer;
  readonly webhooks: {
    readonly follower: AnnouncementsHandler;
    readonly sender: Pick<WebhookSender, 'status'>;
  };
  /** Undefined: no mail goes out. */
  readonly mails:
    (Pick<Mails, 'waiting'> & { readonly sender: Pick<Mails['sender'], 'status'> }) | undefined;
  readonly payments: {
    figures(): Promise<PaymentFigures>;
    readonly pusher: Pick<RewardPusher, 'status'>;
    readonly syncs: Pick<DailySyncs, 'status'>;
  };
}

/** Metrics of the log, the read models and the policies. Labels are our own names, never ids. */
export class LedgerMetrics {
  /** To be passed to the log. */
  readonly eventLog: EventLogObserver;

  constructor(private readonly registry: Registry) {
    const registers = [registry];
    const appends = new Histogram({
      name: 'ledger_append_duration_seconds',
      help: 'Time from the call of an append to its answer',
      labelNames: ['outcome'],
      buckets: [0.0005, 0.001, 0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 1, 5],
      registers,
    });
    for (const outcome of ['appended', 'conflict', 'failed']) appends.zero({ outcome });
    const batches = new Histogram({
      name: 'ledger_append_batch_size',
      help: 'Appends that were committed together',
      buckets: [1, 2, 4, 8, 16, 32, 64, 128, 256, 512],
      registers,
    });
    const retries = new Counter({
      name: 'ledger_append_retries_total',
      help: 'Appends, or batches of them, that were sent again',
      registers,
    });
    const unknownOutcomes = new Counter({
      name: 'ledger_append_unknown_outcomes_total',
      help: 'Tries of an append that ended without an answer',
      registers,
    });
    const subscriptionRestarts = new Counter({
      name: 'ledger_subscription_restarts_total',
      help: 'Subscriptions to the log that broke, were dropped or fell silent, and were made anew',
      registers,
    });
    this.eventLog = {
      append: (ms, outcome) => appends.observe({ outcome }, ms / 1000),
      batch: (size) => batches.observe(size),
      retry: () => retries.inc(),
      unknownOutcome: () => unknownOutcomes.inc(),
      subscriptionRestart: () => subscriptionRestarts.inc(),
    };
  }

  /**
   * Reads the followers once a scrape; while a store is unavailable the gauges keep their values.
   */
  watch(followers: WatchedRunners): void {
    const read = sharedWhileReading(() => readFollowers(followers));
    for (const { set, labelNames = [], ...named } of FOLLOWER_GAUGES)
      new Gauge({
        ...named,
        labelNames,
        registers: [this.registry],
        // Every gauge collects for itself: one that another gauge sets shows the scrape before.
        async collect() {
          set(this, await read());
        },
      });
  }
}

/** Undefined: a store is unavailable. */
interface FollowersRead {
  /** Of the newest entry of the log; of this process. */
  readonly clockAheadSeconds: number;
  readonly projections: Awaited<ReturnType<Projections['status']>> | undefined;
  readonly policies: PolicyStatus | undefined;
  readonly chain: HandlerStatus | undefined;
  readonly webhooks: WebhooksStatus | undefined;
  readonly sender: SenderStatus;
  readonly mails: WaitingMails | undefined;
  readonly mailSender: Pick<MailSenderStatus, 'stillSeconds'>;
  readonly payments: PaymentFigures | undefined;
  /** Of this process. */
  readonly paymentsStill: { readonly pushes: number; readonly syncs: number };
}

const NO_MAILS = { waiting: 0, oldestWaitingSeconds: 0, unsentSeconds: 0 };

async function readFollowers(followers: WatchedRunners): Promise<FollowersRead> {
  const now = timeNow();
  const [projections, policies, chain, webhooks, mails, payments] = await Promise.all([
    followers.projections.status(followers.follower).catch(() => undefined),
    followers.policies.status(now, followers.follower).catch(() => undefined),
    followers.sealer.status(now, followers.follower).catch(() => undefined),
    followers.webhooks.follower.status(now, followers.follower).catch(() => undefined),
    followers.mails === undefined ? NO_MAILS : followers.mails.waiting().catch(() => undefined),
    followers.payments.figures().catch(() => undefined),
  ]);
  const sender = followers.webhooks.sender.status();
  const mailSender = followers.mails?.sender.status() ?? { stillSeconds: 0 };
  const { pusher, syncs } = followers.payments;
  const paymentsStill = {
    pushes: pusher.status().stillSeconds,
    syncs: syncs.status().stillSeconds,
  };
  const mailing = { mails, mailSender };
  const clockAheadSeconds = followers.clock.aheadSeconds;
  const behindLog = { projections, policies, chain, webhooks, sender };
  return { clockAheadSeconds, ...behindLog, ...mailing, payments, paymentsStill };
}

/** Callers at the same time share one reading. */
function sharedWhileReading<T>(read: () => Promise<T>): () => Promise<T> {
  let reading: Promise<T> | undefined;
  return () => (reading ??= read().finally(() => (reading = undefined)));
}

type Label = 'projection' | 'follower';

interface FollowerGauge {
  readonly name: string;
  readonly help: string;
  readonly labelNames?: readonly Label[];
  readonly set: (gauge: Gauge<Label>, read: FollowersRead) => void;
}

/** A gauge of each projection. */
const ofProjections =
  (
    member: 'lagEvents' | 'lagSeconds' | 'parkedStreams' | 'unreadableStreams',
  ): FollowerGauge['set'] =>
  (gauge, { projections = [] }) =>
    projections.forEach((row) => gauge.set({ projection: row.projection }, row[member]));

type Row<Part extends keyof FollowersRead> = NonNullable<FollowersRead[Part]>;

/** A gauge of a figure of one part. */
const of =
  <Part extends 'policies' | 'chain' | 'webhooks' | 'mails' | 'payments'>(
    part: Part,
    figure: (row: Row<Part>) => number,
  ): FollowerGauge['set'] =>
  (gauge, { [part]: row }) =>
    row && gauge.set(figure(row));

const FOLLOWER_GAUGES: readonly FollowerGauge[] = [
  {
    name: 'ledger_clock_ahead_seconds',
    help: 'How far the newest entry of the log is ahead of the clock of this process',
    set: (gauge, { clockAheadSeconds }) => gauge.set(clockAheadSeconds),
  },
  {
    name: 'ledger_follower_still_seconds',
    help: 'How long a follower of the log has stood still although there are events',
    labelNames: ['follower'],
    set(gauge, { projections = [], policies, chain, webhooks }) {
      for (const { projection, stillSeconds } of projections)
        gauge.set({ follower: projection }, stillSeconds);
      if (policies) gauge.set({ follower: 'policies' }, policies.stillSeconds);
      if (chain) gauge.set({ follower: 'chain' }, chain.stillSeconds);
      if (webhooks) gauge.set({ follower: 'webhooks' }, webhooks.stillSeconds);
    },
  },
  {
    name: 'ledger_projection_lag_events',
    help: 'Events not applied yet, counted up to a bound',
    labelNames: ['projection'],
    set: ofProjections('lagEvents'),
  },
  {
    name: 'ledger_projection_lag_seconds',
    help: 'Age of the oldest event not applied',
    labelNames: ['projection'],
    set: ofProjections('lagSeconds'),
  },
  {
    name: 'ledger_projection_parked_streams',
    help: 'Streams that could not be applied',
    labelNames: ['projection'],
    set: ofProjections('parkedStreams'),
  },
  {
    name: 'ledger_projection_unreadable_streams',
    help: 'Streams with an event that this release could not decode',
    labelNames: ['projection'],
    set: ofProjections('unreadableStreams'),
  },
  {
    name: 'ledger_policies_lag_events',
    help: 'Events that policies have not reacted to, counted up to a bound',
    set: of('policies', (row) => row.lagEvents),
  },
  {
    name: 'ledger_policies_lag_seconds',
    help: 'Age of the oldest event that policies have not reacted to',
    set: of('policies', (row) => row.lagSeconds),
  },
  {
    name: 'ledger_parked_reactions',
    help: 'Reactions that failed again and again and are tried again by and by',
    set: of('policies', (row) => row.parked),
  },
  {
    name: 'ledger_held_back_streams',
    help: 'Streams whose events policies cannot read',
    set: of('policies', (row) => row.heldBack),
  },
  {
    name: 'ledger_parked_reactions_oldest_seconds',
    help: 'How long the oldest parked reaction or stream that is held back stands still',
    set: of('policies', (row) => row.oldestSeconds),
  },
  {
    name: 'ledger_chain_lag_events',
    help: 'Events not sealed yet, counted up to a bound',
    set: of('chain', (row) => row.lagEvents),
  },
  {
    name: 'ledger_chain_lag_seconds',
    help: 'Age of the oldest event not sealed',
    set: of('chain', (row) => row.lagSeconds),
  },
  {
    name: 'ledger_webhooks_lag_seconds',
    help: 'Age of the oldest event of which webhooks know nothing yet',
    set: of('webhooks', (row) => row.lagSeconds),
  },
  {
    name: 'ledger_webhook_sender_still_seconds',
    help: 'How long this process could not read which webhooks are due, or make their bodies',
    set: (gauge, { sender }) => gauge.set(sender.stillSeconds),
  },
  {
    name: 'ledger_webhooks_waiting',
    help: 'Webhooks on their way, counted up to a bound; none of disabled endpoints',
    set: of('webhooks', (row) => row.waiting),
  },
  {
    name: 'ledger_webhooks_waiting_oldest_seconds',
    help: 'Age of the oldest webhook on its way',
    set: of('webhooks', (row) => row.oldestWaitingSeconds),
  },
  {
    name: 'ledger_webhooks_unsent_seconds',
    help: 'How long a webhook that may be sent has found no place, or nobody who sends',
    set: of('webhooks', (row) => row.unsentSeconds),
  },
  {
    name: 'ledger_mail_sender_still_seconds',
    help: 'How long this process could not read which mails are due, or make them',
    set: (gauge, { mailSender }) => gauge.set(mailSender.stillSeconds),
  },
  {
    name: 'ledger_mails_waiting',
    help: 'Mails that are due, tried again or being sent, counted up to a bound',
    set: of('mails', (row) => row.waiting),
  },
  {
    name: 'ledger_mails_waiting_oldest_seconds',
    help: 'Since the oldest waiting mail was due, or failed first',
    set: of('mails', (row) => row.oldestWaitingSeconds),
  },
  {
    name: 'ledger_mails_unsent_seconds',
    help: 'How long a mail has been due while nobody sends any',
    set: of('mails', (row) => row.unsentSeconds),
  },
  {
    name: 'ledger_payment_pusher_still_seconds',
    help: 'How long this process could not read which rewards the payment provider is to pay',
    set: (gauge, { paymentsStill }) => gauge.set(paymentsStill.pushes),
  },
  {
    name: 'ledger_payment_syncs_still_seconds',
    help: 'How long this process could not read which daily walks are due, or record their facts',
    set: (gauge, { paymentsStill }) => gauge.set(paymentsStill.syncs),
  },
  {
    name: 'ledger_payment_events_waiting',
    help: 'Events of customers of payment providers that no account has, counted up to a bound',
    set: of('payments', (row) => row.waitingEvents),
  },
  {
    name: 'ledger_payment_pushes_waiting',
    help: 'Accounts with rewards that a payment provider is to pay now, counted up to a bound',
    set: of('payments', (row) => row.waitingPushes),
  },
  {
    name: 'ledger_payment_pushes_waiting_oldest_seconds',
    help: 'Since the oldest of them was due',
    set: of('payments', (row) => row.oldestWaitingPushSeconds),
  },
  {
    name: 'ledger_payment_pushes_parked',
    help: 'Rewards that a payment provider refused, counted up to a bound',
    set: of('payments', (row) => row.parkedPushes),
  },
  {
    name: 'ledger_payment_syncs_late_seconds',
    help: 'How long a daily walk of a payment provider has been due without its end',
    set: of('payments', (row) => row.lateSyncSeconds),
  },
];
