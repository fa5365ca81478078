import type { Pool } from 'pg';
import { Module, type DynamicModule } from '@nestjs/common';
import type { Registry } from 'prom-client';
import { accountProjectors } from '../../projections/account-projectors.js';
import { AccountQueries } from '../../projections/accounts/queries.js';
import { DailyFigureQueries } from '../../projections/daily-figures/queries.js';
import { ExportQueries } from '../../projections/exports/queries.js';
import { ReferralCodeQueries } from '../../projections/referral-codes/queries.js';
import { ReferralQueries } from '../../projections/referrals/queries.js';
import { RewardBalanceQueries } from '../../projections/reward-balances/queries.js';
import { RewardQueries } from '../../projections/rewards/queries.js';
import { CustomerSearchQueries } from '../../projections/users/search-queries.js';
import { UserQueries } from '../../projections/users/queries.js';
import type { Config } from '../config/config.js';
import type { CurrentOperators } from '../config/operators.js';
import type { Core } from '../stores/core.js';
import { CustomerReads } from '../operations/customers/lists/customer-lists.js';
import { ConsoleAssetsController } from '../console/assets/assets.controller.js';
import { ConsoleModerationController } from '../console/pages/moderation.controller.js';
import { ConsoleWebhooksController } from '../console/pages/webhooks.controller.js';
import { ConsoleExportFilesController } from '../console/pages/export-files.controller.js';
import { EventDownloads } from '../console/event-downloads.js';
import { ConsoleExportsController } from '../console/pages/exports.controller.js';
import { ConsoleImportsController } from '../console/pages/imports.controller.js';
import { ConsoleMailsController } from '../console/pages/mails.controller.js';
import { ConsolePaymentsController } from '../console/pages/payments.controller.js';
import { ConsoleThemeController } from '../console/pages/theme.controller.js';
import { ConsoleSettingsController } from '../console/pages/settings.controller.js';
import { ConsoleProgramController } from '../console/pages/program.controller.js';
import { ConsoleAccountController } from '../console/pages/account.controller.js';
import { ConsoleOverviewController } from '../console/pages/overview.controller.js';
import { ConsoleCustomersController } from '../console/pages/customers.controller.js';
import { ConsoleBalancesController } from '../console/pages/balances.controller.js';
import { ConsoleCorrectionsController } from '../console/pages/corrections.controller.js';
import { ConsoleHomeController } from '../console/pages/home.controller.js';
import { ConsolePeriodsController } from '../console/pages/periods.controller.js';
import {
  ConsoleProjectionsController,
  ConsoleTenantProjectionsController,
} from '../console/pages/projections.controller.js';
import { ConsoleReconcileController } from '../console/pages/reconcile.controller.js';
import { ConsoleReplayController } from '../console/pages/replay.controller.js';
import { ConsoleActivityController } from '../console/pages/activity.controller.js';
import { ConsoleRunsController } from '../console/pages/runs.controller.js';
import { ConsoleSessionsController } from '../console/pages/sessions.controller.js';
import { ConsoleStatementController } from '../console/pages/statement.controller.js';
import { ConsoleVerifyController } from '../console/pages/verify.controller.js';
import { TenantPages } from '../console/pages/tenant-pages.js';
import type { ConsoleGate } from '../console/sessions/console-gate.js';
import { AccountsController } from '../http/accounts/accounts.controller.js';
import type { FailedCredentials } from '../http/limits/call-limit.js';
import type { RateLimits } from '../http/limits/rate-limits.js';
import { PaymentEventsController } from '../http/integrations/payment-events.controller.js';
import { AccountDiscounts } from '../http/discounts/account-discounts.js';
import { Coupons } from '../http/discounts/coupons.js';
import { DiscountsController } from '../http/discounts/discounts.controller.js';
import { DownloadPlaces } from '../http/exports/download-places.js';
import { FileDownloads } from '../http/exports/file-downloads.js';
import { ExportsController } from '../http/exports/exports.controller.js';
import { HealthController } from '../http/health/health.controller.js';
import { READINESS_PROBE } from '../http/health/readiness.js';
import type { ServiceReadiness } from '../observability/health.js';
import { METRICS_REGISTRY, MetricsController } from '../http/health/metrics.js';
import { OperationCalls } from '../http/operations/operation-calls.js';
import type { OperationRuns } from '../http/operations/operation-runs.js';
import { OperationsCore } from '../http/operations/operations-core.js';
import { ImportStarts } from '../http/operations/import-starts.js';
import { ImportsController } from '../http/operations/imports.controller.js';
import { OperationsController } from '../http/operations/operations.controller.js';
import { operationRoutes } from '../http/operations/operation-routes.js';
import { allOperations } from '../operations/registry/registry.js';
import { PersonalDataController } from '../http/personal-data/personal-data.controller.js';
import { CodeLookUps } from '../http/referral-codes/code-look-ups.js';
import { ReferralCodesController } from '../http/referral-codes/referral-codes.controller.js';
import { ReferralsController } from '../http/referrals/referrals.controller.js';
import { RewardsController } from '../http/rewards/rewards.controller.js';
import { SubscriptionsController } from '../http/webhooks/subscriptions.controller.js';
import { KeySetController } from '../http/webhooks/key-set.controller.js';
import { Presentation } from '../http/users/presentation.js';
import { UserLookUps } from '../http/users/user-look-ups.js';
import { ShareLinkRedirects } from '../http/share-links/share-link-redirects.js';
import type { ShareLinkVisits } from '../http/share-links/share-link-visits.js';
import { SharePages } from '../http/share-pages/share-pages.js';
import { SharePagesController } from '../http/share-pages/share-pages.controller.js';
import { ShareLinksController } from '../http/share-links/share-links.controller.js';
import { MailPreviewsController } from '../http/mails/mail-previews.controller.js';
import { UnsubscribeController } from '../http/mails/unsubscribe.controller.js';
import { ShortLinksController } from '../http/share-links/short-links.controller.js';
import { ThemesController } from '../http/themes/themes.controller.js';
import { UserEventsController } from '../http/user-events/user-events.controller.js';
import { CookieUsersController } from '../http/users/cookie-users.controller.js';
import { OpenUsersController } from '../http/users/open-users.controller.js';
import { UsersController } from '../http/users/users.controller.js';
import { CommandGateway } from '../http/writing/command-gateway.js';
import { OwnWrites, type Progress } from '../http/writing/own-writes.js';
import { Writes } from '../http/writing/writes.js';
import type { StoredAnswers } from '../idempotency/stored-answers.js';
import { POLICIES } from '../policies/policies.js';
import { SigningKeys } from '../webhooks/signing/signing-keys.js';
import { LiveReads } from '../projecting/following/live-reads.js';
import { MailPreviews, PREVIEW_TIMES } from '../mails/mail-previews.js';
import { UnsubscribedAddresses } from '../mails/unsubscribed-addresses.js';
import { SmtpSender } from '../mails/sending/smtp-sender.js';
import { Themes } from '../themes/themes.js';
import type { Address, ServiceOptions } from './service-options.js';
import type { Followers } from './start-followers.js';
import type { Payments } from './start-payments.js';
import type { SlowReads } from '../projecting/following/slow-reads.js';
import { unreadableAccounts } from '../projecting/following/unreadable-accounts.js';
import type { LiveGenerations } from '../projecting/generations/live-generations.js';

/** The parts of the module; src/process/service.ts opens and closes them. */
export interface ModuleParts {
  readonly core: Core;
  readonly generations: LiveGenerations;
  readonly followers: Followers;
  readonly answers: StoredAnswers;
  readonly rateLimits: RateLimits;
  readonly visits: ShareLinkVisits;
  readonly readiness: ServiceReadiness;
  readonly registry: Registry;
  readonly operators: CurrentOperators;
  readonly console: ConsoleGate;
  /** For reads of many rows. */
  readonly slowReads: SlowReads;
  /** For operations on read models. */
  readonly operationsPool: Pool;
  /** Operations that operators started in this process. */
  readonly runs: OperationRuns;
  readonly address: Address;
  readonly payments: Payments;
  /** Counts wrong signatures together with wrong keys. */
  readonly failures: FailedCredentials;
}

const TENANT_CONTROLLERS = [
  AccountsController,
  UsersController,
  OpenUsersController,
  CookieUsersController,
  ShareLinksController,
  ShortLinksController,
  UnsubscribeController,
  SharePagesController,
  UserEventsController,
  PersonalDataController,
  ReferralCodesController,
  ReferralsController,
  RewardsController,
  DiscountsController,
  ExportsController,
  ThemesController,
  MailPreviewsController,
  SubscriptionsController,
  KeySetController,
  PaymentEventsController,
];

const OPERATOR_CONTROLLERS = [OperationsController, ImportsController];

const CONSOLE_CONTROLLERS = [
  ConsoleAssetsController,
  ConsoleSessionsController,
  ConsoleActivityController,
  ConsoleRunsController,
  ConsoleHomeController,
  ConsoleOverviewController,
  ConsoleAccountController,
  ConsoleProjectionsController,
  ConsoleTenantProjectionsController,
  ConsoleBalancesController,
  ConsoleStatementController,
  ConsoleReplayController,
  ConsoleReconcileController,
  ConsolePeriodsController,
  ConsoleVerifyController,
  ConsoleCorrectionsController,
  ConsoleCustomersController,
  ConsoleModerationController,
  ConsoleWebhooksController,
  ConsoleExportsController,
  ConsoleExportFilesController,
  ConsoleMailsController,
  ConsoleImportsController,
  ConsolePaymentsController,
  ConsoleThemeController,
  ConsoleProgramController,
  ConsoleSettingsController,
];

/** The composition root of the Nest application. */
@Module({})
export class AppModule {
  static async of(parts: ModuleParts, options: ServiceOptions): Promise<DynamicModule> {
    const routes = operationRoutes(await allOperations());
    return {
      module: AppModule,
      controllers: [
        ...(options.config.roles.has('api')
          ? [...TENANT_CONTROLLERS, ...OPERATOR_CONTROLLERS, routes, ...CONSOLE_CONTROLLERS]
          : []),
        HealthController,
        MetricsController,
      ],
      providers: [
        { provide: READINESS_PROBE, useValue: parts.readiness },
        { provide: METRICS_REGISTRY, useValue: parts.registry },
        ...injected(parts, options).map((one) => ({ provide: one.constructor, useValue: one })),
      ],
    };
  }
}

const readsOf =
  ({ core, generations, slowReads }: ModuleParts) =>
  <Tables>(projection: string): LiveReads<Tables> =>
    new LiveReads(core.pool, generations, projection, slowReads);

function queriesOf(parts: ModuleParts) {
  const { core } = parts;
  const reads = readsOf(parts);
  return {
    accounts: new AccountQueries(reads('accounts')),
    users: new UserQueries(reads('users')),
    codes: new ReferralCodeQueries(reads('referral-codes')),
    referrals: new ReferralQueries(reads('referrals')),
    rewards: new RewardQueries(reads('rewards'), (scope) => core.tenants.now(scope)),
    balances: new RewardBalanceQueries(reads('reward-balances')),
    exports: new ExportQueries(reads('exports')),
    search: new CustomerSearchQueries(reads('users')),
    dailyFigures: new DailyFigureQueries(reads('daily-figures')),
  };
}

function customersOf(parts: ModuleParts, balances: RewardBalanceQueries): CustomerReads {
  const { core, operationsPool: pool } = parts;
  return new CustomerReads({ reads: readsOf(parts), balances, tenants: core.tenants, pool });
}

const progressOf = ({ followers: { follower, policies }, readiness }: ModuleParts): Progress => ({
  waitForProjections: (...awaited) => follower.waitFor(...awaited),
  projectionsInclude: (...asked) => follower.allInclude(...asked),
  waitForPolicies: (...awaited) => policies.waitFor(...awaited),
  projectionPositions: (names) => follower.positions(names),
  policyPosition: (scope) => policies.reachedPosition(scope),
  skippedHead: () => readiness.skippedHead,
});

/** The injectable values, each by its class. */
function injected(parts: ModuleParts, { config, logger }: ServiceOptions): readonly object[] {
  const { core, answers } = parts;
  const { publicUrl } = parts.address;
  const { guard, tests } = parts.followers.webhooks;
  const ownWrites = new OwnWrites(core.log, progressOf(parts), {
    timeoutMs: config.positionWaitMs,
    ownWritesMs: config.ownWritesWaitMs,
  });
  const operations = new OperationsCore(
    core,
    parts.operationsPool,
    (line) => logger.warn(line),
    answers,
    parts.operators,
  );
  const calls = new OperationCalls(operations, parts.runs, {
    provider: parts.payments.provider,
    guard: () => Promise.resolve(guard),
    publicUrl,
  });
  const pages = new TenantPages(operations, calls, ownWrites);
  const gateway = new CommandGateway(
    core.commands,
    new Writes(answers, ownWrites, core.names, logger),
    ownWrites,
    new Set<string>(POLICIES.flatMap(({ handles }) => [...handles])),
    unreadableAccounts(core.pool, accountProjectors),
  );
  return [
    core.names,
    core.exports,
    core.themeChanges,
    core.webhooks,
    core.tenants,
    core.owners,
    tests,
    guard,
    parts.payments.events,
    parts.failures,
    parts.rateLimits,
    parts.runs,
    parts.console,
    new UnsubscribedAddresses(core.pool, core.names),
    new FileDownloads(core.downloads, new DownloadPlaces()),
    new SigningKeys(core.pool, core.webhookKeysSealer),
    new EventDownloads(pages),
    new ShareLinkRedirects(parts.visits, core.owners, publicUrl),
    calls,
    operations,
    new ImportStarts(calls, operations),
    pages,
    ownWrites,
    gateway,
    ...shown(parts, gateway, config),
  ];
}

/** Presenters of facts of several read models, and the queries they use. */
function shown(parts: ModuleParts, gateway: CommandGateway, { smtp }: Config): readonly object[] {
  const { core } = parts;
  const { publicUrl, mailFrom } = parts.address;
  const { tenants, owners, names } = core;
  const themes = new Themes(core.themeRows);
  const queries = queriesOf(parts);
  const { accounts, users, codes, rewards, balances } = queries;
  return [
    ...Object.values(queries),
    customersOf(parts, balances),
    themes,
    new UserLookUps(gateway, users, codes, names),
    new Presentation(users, rewards, publicUrl),
    new SharePages(owners, core.themeRows, themes, publicUrl),
    new MailPreviews({
      themes,
      tenants,
      testAddresses: core.mailTestAddresses,
      names,
      smtp: smtp && new SmtpSender(smtp, PREVIEW_TIMES),
      publicUrl,
      mailFrom,
    }),
    new CodeLookUps(gateway, codes),
    new AccountDiscounts(accounts, balances, codes, new Coupons(core.streams, owners, names)),
  ];
}
