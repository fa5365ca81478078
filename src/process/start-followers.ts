import type { Pool } from 'pg';
import { accountProjectors } from '../../projections/account-projectors.js';
import { ChainNames } from '../chain/chain-names.js';
import { ChainSealer } from '../chain/chain-sealer.js';
import { ChainSealing } from '../chain/chain-sealing.js';
import { sealsIn } from '../chain/chain-seals.js';
import { connectionBudget } from '../config/connection-budget.js';
import { isOutage, isStoreUnavailable, type Core } from '../stores/core.js';
import { countOtherReleases } from '../stores/release.js';
import type { EventLog } from '../event-log/event-log.js';
import { Follower } from '../following/follower.js';
import { pause } from '../foundation/pause.js';
import type { RateLimits } from '../http/limits/rate-limits.js';
import { purgeAnswers } from '../idempotency/purge-answers.js';
import type { UnreadableRetries } from '../operations/projections/unreadable-retries.js';
import { AddressedMails } from '../mails/content/addressed-mails.js';
import { renderMail } from '../mails/content/rendered-mail.js';
import { MailSender } from '../mails/deliveries/mail-sender.js';
import { waitingMails } from '../mails/deliveries/shown-mails.js';
import { MailPlans } from '../mails/mail-plans.js';
import { mimeOf } from '../mails/sending/mime.js';
import { SmtpSender } from '../mails/sending/smtp-sender.js';
import { UnsubscribedAddresses } from '../mails/unsubscribed-addresses.js';
import { Unsubscribing } from '../mails/unsubscribing.js';
import { PaymentNotes } from '../payments/incoming/payment-notes.js';
import { providerRows } from '../payments/incoming/payment-rows.js';
import { RewardPayments } from '../payments/outgoing/reward-payments.js';
import { Jobs } from '../work-queue/jobs.js';
import { moveWork, workStore } from '../work-queue/work-items.js';
import { POLICIES } from '../policies/policies.js';
import { LedgerDates } from '../reacting/ledger-dates.js';
import { PolicyRunner } from '../reacting/policy-runner.js';
import { postgresPolicyStores } from '../reacting/policy-stores.js';
import { carryOutReactions, jobHandlers } from '../reacting/reactions.js';
import { repeatJobs } from '../policies/repeat-jobs.js';
import { positionOfOrigin } from '../operations/ledger/origin-positions.js';
import { openPool } from '../postgres/database.js';
import { replayErasures } from '../stores/erasure-replay.js';
import { retireOldKeys, completeRotation } from '../privacy/key-rotation.js';
import { masterKeyId } from '../privacy/master-key.js';
import { scrubIfNeeded } from '../privacy/scrub.js';
import { decodeAny, decodeForProjectors } from '../projecting/decode-events.js';
import { Projections } from '../projecting/following/projections.js';
import { postgresProjectionStores } from '../projecting/following/projection-stores.js';
import type { Page } from '../projecting/page.js';
import { ScrubbedGenerations } from '../projecting/generations/scrubbed-generations.js';
import { purgeRuns } from '../runs/recorded-runs.js';
import { purgeRunFiles } from '../runs/run-files.js';
import { forgetTestData } from '../operations/tenants/forget-test-data.js';
import { AnnouncementsHandler } from '../webhooks/deliveries/announcements-handler.js';
import { postgresAnnouncementsStore } from '../webhooks/deliveries/announcements-store.js';
import { TestDeliveries } from '../webhooks/deliveries/test-deliveries.js';
import { WebhookSender } from '../webhooks/deliveries/webhook-sender.js';
import { Payloads } from '../webhooks/payloads/payloads.js';
import { ThemeRows } from '../themes/theme-rows.js';
import { Themes } from '../themes/themes.js';
import { EndpointGuard } from '../webhooks/sending/endpoint-guard.js';
import { SigningKeys } from '../webhooks/signing/signing-keys.js';
import { WebhookPost } from '../webhooks/sending/webhook-post.js';
import type { Metrics } from '../observability/metrics.js';
import type { Address, ServiceOptions } from './service-options.js';
import type { OnStop } from './start-in-order.js';
import type { Stores, WatchedLog } from './start-stores.js';

const CATCH_UP_BEFORE_END_MS = 2_000;
const LOOK_AGAIN_MS = 100;

export const PROJECTION_NAMES = accountProjectors.map(({ name }) => name);

export type Followers = ReturnType<typeof makeFollowers>;

export function openJobsPool({ databaseUrl: url }: Core, { config }: ServiceOptions): Pool {
  const max = connectionBudget(config).jobs;
  return openPool({ url, max, applicationName: 'ledger-jobs' });
}

export interface FollowersParts {
  readonly rateLimits: RateLimits;
  readonly stores: Stores;
  readonly watched: WatchedLog;
  readonly jobsPool: Pool;
  readonly address: Address;
  readonly metrics: Metrics;
}

/** Creates the log's followers before the application, which reports them; they start after it. */
export function makeFollowers(parts: FollowersParts, { config, logger }: ServiceOptions) {
  const { core, background: pool } = parts.stores;
  const { log, codec } = core;
  const { generations } = parts.watched;
  const jobs = jobsOf(parts);
  const mails = mailsOf(parts, { config });
  const { tenants, streams } = core;
  const payments = new RewardPayments({ work: workStore(pool), tenants, streams });
  const sealing = new ChainSealing({
    seals: sealsIn(pool),
    log,
    chains: new ChainNames(core.names),
    signer: core.chainSigner,
  });
  const projections = new Projections({
    stores: postgresProjectionStores(pool, accountProjectors),
    log,
    decode: decodeForProjectors(codec),
    projectors: accountProjectors,
    generations,
    logger,
  });
  const policies = policiesOf(parts, { jobs, mails, payments }, { logger });
  const sealer = new ChainSealer({ seals: sealsIn(pool), log, sealing, logger });
  const webhooks = webhooksOf(parts, { config, logger });
  const { roles } = config;
  const follower = new Follower<Page>({
    ...projections.following,
    handlers: [
      ...(roles.has('projector') ? projections.handlers : []),
      ...(roles.has('worker') ? [policies, webhooks.follower, sealer] : []),
    ],
    settle: () => parts.watched.settle(),
    logger,
  });
  return { follower, projections, jobs, policies, sealer, webhooks, mails, payments };
}

/** A handler writes the deliveries of events, and a sender sends them. */
function webhooksOf(
  { stores, address, metrics }: FollowersParts,
  { config, logger }: Pick<ServiceOptions, 'config' | 'logger'>,
) {
  const { core, background: pool, presence } = stores;
  const { log, codec, names, streams, tenants, webhooks: subscriptions } = core;
  const guard = new EndpointGuard({ allowed: config.webhookAllowCidrs });
  const post = new WebhookPost(guard);
  const sender = new WebhookSender({
    pool,
    tenants,
    subscriptions,
    payloads: new Payloads({ log, codec, keys: core.keys, names, publicUrl: address.publicUrl }),
    keys: new SigningKeys(pool, core.webhookKeysSealer),
    post,
    answers: core.webhookAnswers,
    presence,
    onAttempt: metrics.observe.webhooks,
  });
  const look = (): void => sender.worker.loop.notify();
  const follower = new AnnouncementsHandler({
    store: postgresAnnouncementsStore(pool),
    log,
    decode: decodeAny(codec),
    streams,
    names,
    logger,
    receivedTypes: (scope) => subscriptions.receivedTypes(scope),
    translate: (position) => positionOfOrigin(log, position),
    onDeliveries: look,
  });
  return { guard, post, sender, follower, tests: new TestDeliveries(core.pool, look) };
}

function policiesOf(
  { stores }: FollowersParts,
  takers: {
    readonly jobs: Jobs;
    readonly mails: ReturnType<typeof mailsOf>;
    readonly payments: RewardPayments;
  },
  { logger }: Pick<ServiceOptions, 'logger'>,
): PolicyRunner {
  const { core, background: pool } = stores;
  return new PolicyRunner({
    stores: postgresPolicyStores(pool),
    log: core.log,
    decode: decodeAny(core.codec),
    policies: POLICIES,
    isUnavailable: isOutage,
    logger,
    carryOut: carryOutReactions(core.commands, takers.jobs, core.streams, {
      dates: datesOf(core.tenants, pool),
      forgetTestData: (...of) => forgetTestData(pool, ...of),
      mails: takers.mails?.plans,
      providers: new PaymentNotes(providerRows(pool), core.names),
      payments: takers.payments,
    }),
  });
}

const datesOf = (tenants: Core['tenants'], pool: Pool): LedgerDates =>
  new LedgerDates({ tenants, move: (...to) => moveWork(pool, ...to) });

/** The handler that plans mails, and their sender. */
function mailsOf(
  { stores, address, metrics }: FollowersParts,
  { config }: Pick<ServiceOptions, 'config'>,
) {
  if (config.smtp === undefined) return undefined;
  const { core, background: pool, presence } = stores;
  const { log, codec, names, tenants } = core;
  const { publicUrl, mailFrom } = address;
  const sender = new MailSender({
    pool,
    tenants,
    presence,
    smtp: new SmtpSender(config.smtp),
    compose: mimeOf,
    mails: new AddressedMails({
      log,
      codec,
      accounts: core.streams.accounts,
      names,
      themes: new Themes(new ThemeRows(pool, core.keys)),
      testAddresses: core.mailTestAddresses,
      unsubscribing: new Unsubscribing(names, publicUrl),
      unsubscribed: new UnsubscribedAddresses(pool, names),
      publicUrl,
      mailFrom,
      render: renderMail,
    }),
    onOutcome: metrics.observe.mails,
  });
  const plans = new MailPlans({ pool, tenants, onPlanned: () => sender.worker.loop.notify() });
  return { plans, sender, waiting: () => waitingMails(pool) };
}

function jobsOf({ stores, jobsPool, rateLimits, metrics }: FollowersParts): Jobs {
  const { commands, moderations, erasures, pool, log, keys, codec, keyring, masterKey } =
    stores.core;
  const { tenants, streams, themeChanges } = stores.core;
  const payments = new RewardPayments({ work: workStore(pool), tenants, streams });
  const readModels = new ScrubbedGenerations({
    pool,
    log,
    readModels: accountProjectors,
    otherProcesses: (db) => countOtherReleases(db, accountProjectors),
  });
  const jobs: Jobs = new Jobs({
    store: workStore(jobsPool),
    presence: stores.presence,
    handlers: jobHandlers({
      commands,
      moderations,
      erasures,
      tenants,
      repeatJobs: (since) => {
        const dates = datesOf(tenants, pool);
        return repeatJobs({ log, decode: decodeAny(codec), jobs, dates, payments }, since);
      },
    }),
    regular: {
      'purge-idempotency-keys': async () =>
        (await purgeAnswers(pool)) + (await purgeRuns(pool)) + (await rateLimits.purge()),
      'purge-run-files': () => purgeRunFiles(pool),
      'scrub-erased': () => scrubIfNeeded(jobsPool, { readModels }),
      'check-erasures': () => replayErasures(pool, log, keys),
      'record-themes': () => themeChanges.recordMissing(),
      'finish-key-rotation': async () => {
        if (await completeRotation(jobsPool, keyring))
          await retireOldKeys(jobsPool, masterKeyId(masterKey));
      },
    },
    isUnavailable: isStoreUnavailable,
    observe: metrics.observe.jobs,
  });
  return jobs;
}

/** Prepares them before the log is accepted as the database's own. */
export async function prepareFollowers(
  { follower, jobs, policies, webhooks, mails }: Followers,
  retries: UnreadableRetries,
  { config: { roles } }: ServiceOptions,
  onStop: OnStop,
): Promise<void> {
  if (roles.has('worker')) await jobs.start();
  onStop(() => jobs.stop());
  // Registered before the jobs, which reactions add.
  onStop(() => follower.stop());
  // Takes effect with the first round as leader.
  if (roles.has('projector')) retries.start();
  onStop(() => retries.stop());
  onStop(() => policies.stop());
  onStop(() => webhooks.post.close());
  onStop(() => webhooks.sender.worker.stop());
  onStop(() => mails?.sender.worker.stop());
}

/** Starts them once the log is accepted. */
export function startFollowing(
  { follower, policies, webhooks, mails }: Followers,
  { log }: Core,
  { config: { roles } }: ServiceOptions,
  onStop: OnStop,
): void {
  const waiting = new AbortController();
  void whenLogAccepted(log, waiting.signal, () => {
    if (roles.has('projector') || roles.has('worker')) follower.start();
    if (!roles.has('worker')) return;
    policies.start();
    webhooks.sender.worker.loop.start();
    mails?.sender.worker.loop.start();
  });
  onStop(() => waiting.abort());
}

/**
 * Positions are meaningful once the log has been reached: only then is it known which log the
 * database belongs to.
 */
async function whenLogAccepted(
  log: EventLog,
  signal: AbortSignal,
  begin: () => void,
): Promise<void> {
  while (!signal.aborted) {
    const isAccepted = await log.id().then(
      () => true,
      // The health page shows the reason.
      () => false,
    );
    if (isAccepted && !signal.aborted) return begin();
    await pause(LOOK_AGAIN_MS, signal);
  }
}

/**
 * Before the stop, lets the followers that this process leads reach the acknowledged writes, so
 * that the next process starts quickly. A failure loses nothing.
 */
export async function catchUpBeforeEnd(
  { log }: Core,
  { follower, policies }: Followers,
): Promise<void> {
  const deadline = performance.now() + CATCH_UP_BEFORE_END_MS;
  const left = (): number => Math.max(0, deadline - performance.now());
  try {
    const answered = await log.head();
    if (answered !== undefined && follower.leads(policies.name))
      await policies.waitFor(answered, left());
    const head = await log.head();
    if (head === undefined) return;
    const led = PROJECTION_NAMES.filter((name) => follower.leads(name));
    await follower.waitFor(head, led, left());
  } catch {
    return;
  }
}
