import type { Pool } from 'pg';
import { accountProjectors } from '../../projections/account-projectors.js';
import { ChainNames } from '../chain/chain-names.js';
import { ChainSealer } from '../chain/chain-sealer.js';
import { ChainSealing } from '../chain/chain-sealing.js';
import { sealsIn } from '../chain/chain-seals.js';
import { connectionBudget } from '../config/connection-budget.js';
import { isOutage, isStoreAway, type Core } from '../stores/core.js';
import { countOtherReleases } from '../stores/release.js';
import type { EventLog } from '../event-log/event-log.js';
import { Follower } from '../following/follower.js';
import { pause } from '../foundation/pause.js';
import type { RateLimits } from '../http/limits/rate-limits.js';
import { purgeAnswers } from '../idempotency/purge-answers.js';
import { UnreadableRetries } from '../operations/projections/unreadable-retries.js';
import type { MailOutcome } from '../mails/deliveries/mail-sender.js';
import { Mails } from '../mails/mails.js';
import { PaymentNotes } from '../payments/incoming/payment-notes.js';
import { providerRows } from '../payments/incoming/payment-rows.js';
import { workAsks } from '../payments/outgoing/payment-work.js';
import { RewardPayments } from '../payments/outgoing/reward-payments.js';
import { Jobs, type JobsObserver } from '../work-queue/jobs.js';
import { POLICIES } from '../policies/policies.js';
import { PolicyRunner } from '../reacting/policy-runner.js';
import { postgresPolicyStores } from '../reacting/policy-stores.js';
import { carryOutReactions, jobHandlers } from '../reacting/reactions.js';
import { repeatJobs } from '../policies/repeat-jobs.js';
import { positionOfOrigin } from '../operations/ledger/origin-positions.js';
import { openPool } from '../postgres/database.js';
import { replayErasures } from '../stores/erasure-replay.js';
import { retireOldKeys, settleRotation } from '../privacy/key-rotation.js';
import { masterKeyId } from '../privacy/master-key.js';
import { scrubIfNeeded } from '../privacy/scrub.js';
import { decodeAny, decodeForProjectors } from '../projecting/decode-events.js';
import { Projections } from '../projecting/following/projections.js';
import { postgresProjectionStores } from '../projecting/following/projection-stores.js';
import type { Page } from '../projecting/page.js';
import { ScrubbedGenerations } from '../projecting/generations/scrubbed-generations.js';
import { purgeRuns } from '../runs/recorded-runs.js';
import type { SeenAttempt } from '../webhooks/deliveries/webhook-sender.js';
import { ThemeRows } from '../themes/theme-rows.js';
import { Themes } from '../themes/themes.js';
import { EndpointGuard } from '../webhooks/sending/endpoint-guard.js';
import { SigningKeys } from '../webhooks/signing/signing-keys.js';
import { Webhooks } from '../webhooks/webhooks.js';
import type { ServiceReadiness } from '../observability/health.js';
import type { Address, ServiceOptions } from './service-options.js';
import type { Started } from './start-in-order.js';
import type { Stores, WatchedLog } from './start-stores.js';

const CATCH_UP_BEFORE_END_MS = 2_000;
const LOOK_AGAIN_MS = 100;

export const PROJECTION_NAMES = accountProjectors.map(({ name }) => name);

/**
 * The followers of the log: made before the application, which reports their progress, and started
 * after it.
 */
export interface Followers {
  readonly follower: Follower<Page>;
  readonly projections: Projections;
  readonly jobs: Jobs;
  readonly policies: PolicyRunner;
  readonly sealer: ChainSealer;
  readonly webhooks: Webhooks;
  /** Undefined: no mail goes out. */
  readonly mails: Mails | undefined;
  readonly payments: RewardPayments;
}

export function startJobsPool(
  { databaseUrl: url }: Core,
  { config }: ServiceOptions,
): Started<Pool> {
  const max = connectionBudget(config).jobs;
  const jobsPool = openPool({ url, max, applicationName: 'ledger-jobs', bigintAsText: true });
  // The queue's library types its listeners differently, although the pool's connections have them.
  jobsPool.on('connect', (client) => client.on('error', () => undefined));
  return { part: jobsPool, undo: () => jobsPool.end() };
}

interface FollowersParts {
  readonly rateLimits: RateLimits;
  readonly stores: Stores;
  readonly watched: WatchedLog;
  readonly jobsPool: Pool;
  readonly address: Address;
  readonly observeJobs: JobsObserver;
  readonly observeWebhooks: (seen: SeenAttempt) => void;
  readonly observeMails: (outcome: MailOutcome) => void;
}

export function makeFollowers(
  parts: FollowersParts,
  { config, logger }: ServiceOptions,
): Followers {
  const { core, background: pool } = parts.stores;
  const { log, codec } = core;
  const { generations, loss } = parts.watched;
  const jobs = jobsOf(parts, { logger });
  const mails = mailsOf(parts, { config, logger });
  const guard = new EndpointGuard({ allowed: config.webhookAllowCidrs });
  const { tenants, streams } = core;
  const payments = new RewardPayments({ work: workAsks(pool), tenants, streams });
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
  const policies = policiesOf(parts, { jobs, mails, payments, logger });
  const sealer = new ChainSealer({ seals: sealsIn(pool), log, sealing, logger });
  const webhooks = webhooksOf(parts, { config, logger }, guard);
  const { roles } = config;
  const follower = new Follower<Page>({
    ...projections.following,
    handlers: [
      ...(roles.has('projector') ? projections.handlers : []),
      ...(roles.has('worker') ? [policies, webhooks.follower, sealer] : []),
    ],
    settle: () => loss.settle(),
    logger,
  });
  return { follower, projections, jobs, policies, sealer, webhooks, mails, payments };
}

function webhooksOf(
  { stores, address, observeWebhooks }: FollowersParts,
  { config, logger }: Pick<ServiceOptions, 'config' | 'logger'>,
  guard: EndpointGuard,
): Webhooks {
  const { core, background: pool } = stores;
  return new Webhooks({
    core,
    pool,
    guard,
    keys: new SigningKeys(pool, core.webhookKeysSealer),
    logger,
    translate: (position) => positionOfOrigin(core.log, position),
    publicUrl: () => config.publicUrl ?? address.url,
    onAttempt: observeWebhooks,
  });
}

function policiesOf(
  { stores }: FollowersParts,
  {
    logger,
    ...takers
  }: Pick<Followers, 'jobs' | 'mails' | 'payments'> & Pick<ServiceOptions, 'logger'>,
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
      mails: takers.mails?.plans,
      providers: new PaymentNotes(providerRows(pool), core.names),
      payments: takers.payments,
    }),
  });
}

function mailsOf(
  { stores, address, observeMails }: FollowersParts,
  { config, logger }: Pick<ServiceOptions, 'config' | 'logger'>,
): Mails | undefined {
  if (config.smtp === undefined) return undefined;
  return new Mails({
    core: stores.core,
    pool: stores.background,
    presence: stores.presence,
    themes: new Themes(new ThemeRows(stores.background, stores.core.keys)),
    smtp: config.smtp,
    mailFrom: config.mailFrom,
    publicUrl: () => config.publicUrl ?? address.url,
    logger,
    onOutcome: observeMails,
  });
}

function jobsOf(
  { stores, jobsPool, rateLimits, observeJobs }: FollowersParts,
  { logger }: Pick<ServiceOptions, 'logger'>,
): Jobs {
  const { commands, moderations, erasures, pool, log, keys, codec, keyring, masterKey } =
    stores.core;
  const { tenants, streams, themeChanges } = stores.core;
  const payments = new RewardPayments({ work: workAsks(pool), tenants, streams });
  const readModels = new ScrubbedGenerations({
    pool,
    log,
    readModels: accountProjectors,
    otherProcesses: (db) => countOtherReleases(db, accountProjectors),
  });
  const handlers = jobHandlers({
    commands,
    moderations,
    erasures,
    purgeKeys: async () =>
      (await purgeAnswers(pool)) + (await purgeRuns(pool)) + (await rateLimits.purge()),
    scrubErased: () => scrubIfNeeded(jobsPool, { readModels }),
    checkErasures: () => replayErasures(pool, log, keys),
    recordThemes: () => themeChanges.recordMissing(),
    finishKeyRotation: async () => {
      if (await settleRotation(jobsPool, keyring))
        await retireOldKeys(jobsPool, masterKeyId(masterKey));
    },
    repeatJobs: (since) => repeatJobs({ log, decode: decodeAny(codec), jobs, payments }, since),
  });
  const jobs = new Jobs(jobsPool, stores.presence, {
    handlers,
    isUnavailable: isStoreAway,
    logger,
    observe: observeJobs,
  });
  return jobs;
}

/** Stopped before the jobs, which reactions add. */
export function startFollower({ follower }: Followers): Started<Follower<Page>> {
  return { part: follower, undo: () => follower.stop() };
}

/** Begins with the first round, once this process leads. */
export function startUnreadableRetries(
  { follower }: Followers,
  core: Core,
  pool: Pool,
  { config, logger }: ServiceOptions,
): Started<undefined> {
  const leads = (name: string): boolean => follower.leads(name);
  const retries = new UnreadableRetries({
    core,
    pool,
    projectors: accountProjectors,
    leads,
    logger,
  });
  if (config.roles.has('projector')) retries.start();
  return { part: undefined, undo: () => retries.stop() };
}

export async function startJobs(
  { jobs }: Followers,
  { config }: ServiceOptions,
): Promise<Started<Jobs>> {
  if (config.roles.has('worker')) {
    await jobs.prepare();
    jobs.start();
  }
  return { part: jobs, undo: () => jobs.stop() };
}

export function startPolicies({ policies }: Followers): Started<PolicyRunner> {
  return { part: policies, undo: () => policies.stop() };
}

export function startWebhooks({ webhooks }: Followers): Started<Webhooks> {
  return { part: webhooks, undo: () => webhooks.stop() };
}

export function startMails({ mails }: Followers): Started<Mails | undefined> {
  return { part: mails, undo: async () => mails?.sender.stop() };
}

/** Starts them once the log is known to be the database's own. */
export function startFollowing(
  { follower, policies, webhooks, mails }: Followers,
  { log }: Core,
  { config }: ServiceOptions,
): Started<undefined> {
  const { roles } = config;
  const waiting = new AbortController();
  void whenAccepted(log, waiting.signal, () => {
    if (roles.has('projector') || roles.has('worker')) follower.start();
    if (roles.has('worker')) policies.start();
    if (roles.has('worker')) webhooks.start();
    if (roles.has('worker')) mails?.sender.start();
  });
  return { part: undefined, undo: () => waiting.abort() };
}

export function startReadiness(ready: ServiceReadiness): Started<undefined> {
  void ready.catchUp();
  return { part: undefined, undo: () => ready.stop() };
}

/**
 * Read models and policies use positions, and the log of those positions is known when the log is
 * reached for the first time: the database may then move to this log.
 */
async function whenAccepted(log: EventLog, signal: AbortSignal, begin: () => void): Promise<void> {
  while (!signal.aborted) {
    const isAccepted = await log.id().then(
      () => true,
      // The health page reports the reason.
      () => false,
    );
    if (isAccepted && !signal.aborted) return begin();
    await pause(LOOK_AGAIN_MS, signal);
  }
}

/** At the end, lets read models and policies reach the acknowledged writes. */
export function startCatchingUpAtEnd(core: Core, followers: Followers): Started<undefined> {
  return { part: undefined, undo: () => catchUpBeforeEnd(core, followers) };
}

/**
 * As far as this process leads them, so that the next process has nothing to catch up with. A
 * failure loses nothing: the log has the events.
 */
async function catchUpBeforeEnd({ log }: Core, { follower, policies }: Followers): Promise<void> {
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
