import type { Pool } from 'pg';
import {
  Module,
  type DynamicModule,
  type FactoryProvider,
  type InjectionToken,
  type Provider,
  type ValueProvider,
} from '@nestjs/common';
import type { Registry } from 'prom-client';
import type { Logger } from 'pino';
import { accountProjectors } from '../../projections/account-projectors.js';
import { AccountQueries } from '../../projections/accounts/queries.js';
import { DailyFigureQueries } from '../../projections/daily-figures/queries.js';
import { ExportQueries } from '../../projections/exports/queries.js';
import { ReferralCodeQueries } from '../../projections/referral-codes/queries.js';
import { ReferralQueries } from '../../projections/referrals/queries.js';
import { RewardBalanceQueries } from '../../projections/reward-balances/queries.js';
import { RewardQueries } from '../../projections/rewards/queries.js';
import { UserQueries } from '../../projections/users/queries.js';
import { TenantDirectory } from '../tenants/tenant-directory.js';
import { CodeOwners } from '../command-handling/needs/code-owners.js';
import type { CurrentOperators } from '../config/operators.js';
import type { Core } from '../stores/core.js';
import { Exports } from '../exports/exports.js';
import { ConsoleAssetsController } from '../console/assets/assets.controller.js';
import { ConsoleModerationController } from '../console/pages/moderation.controller.js';
import { ConsoleWebhooksController } from '../console/pages/webhooks.controller.js';
import { ConsoleExportFilesController } from '../console/pages/export-files.controller.js';
import { EventDownloads } from '../console/event-downloads.js';
import { ConsoleEventsController } from '../console/pages/events.controller.js';
import { ConsoleExportsController } from '../console/pages/exports.controller.js';
import { ConsoleMailsController } from '../console/pages/mails.controller.js';
import { ConsolePaymentsController } from '../console/pages/payments.controller.js';
import { ConsoleThemeController } from '../console/pages/theme.controller.js';
import { ConsoleSettingsController } from '../console/pages/settings.controller.js';
import { ConsoleProgramController } from '../console/pages/program.controller.js';
import { ConsoleAccountController } from '../console/pages/account.controller.js';
import { ConsoleOverviewController } from '../console/pages/overview.controller.js';
import { ConsoleCorrectionsController } from '../console/pages/corrections.controller.js';
import { ConsoleHomeController } from '../console/pages/home.controller.js';
import { ConsolePeriodsController } from '../console/pages/periods.controller.js';
import {
  ConsoleProjectionsController,
  ConsoleTenantProjectionsController,
} from '../console/pages/projections.controller.js';
import { ConsoleReconcileController } from '../console/pages/reconcile.controller.js';
import { ConsoleReplayController } from '../console/pages/replay.controller.js';
import { ConsoleRunsController } from '../console/pages/runs.controller.js';
import { ConsoleSessionsController } from '../console/pages/sessions.controller.js';
import { ConsoleStatementController } from '../console/pages/statement.controller.js';
import { ConsoleVerifyController } from '../console/pages/verify.controller.js';
import { RememberedCredit } from '../operations/accounts/account-credit.js';
import { TenantPages } from '../console/pages/tenant-pages.js';
import { ConsoleGate } from '../console/sessions/console-gate.js';
import { AccountsController } from '../http/accounts/accounts.controller.js';
import { FailedCredentials } from '../http/limits/call-limit.js';
import { RateLimits } from '../http/limits/rate-limits.js';
import { PaymentEventsController } from '../http/integrations/payment-events.controller.js';
import { PaymentEvents } from '../payments/incoming/payment-events.js';
import { AccountDiscounts } from '../http/discounts/account-discounts.js';
import { Coupons } from '../http/discounts/coupons.js';
import { DiscountsController } from '../http/discounts/discounts.controller.js';
import { DownloadPlaces } from '../http/exports/download-places.js';
import { FileDownloads } from '../http/exports/file-downloads.js';
import { ExportsController } from '../http/exports/exports.controller.js';
import { HealthController } from '../http/health/health.controller.js';
import { READINESS_PROBE, type ReadinessProbe } from '../http/health/readiness.js';
import { METRICS_REGISTRY, MetricsController } from '../http/health/metrics.js';
import { LedgerOperations } from '../http/operations/ledger-operations.js';
import { OperationCalls } from '../http/operations/operation-calls.js';
import { OperationRuns } from '../http/operations/operation-runs.js';
import { OperatedPayments } from '../http/operations/operated-payments.js';
import { OperationsCore } from '../http/operations/operations-core.js';
import { OperationsController } from '../http/operations/operations.controller.js';
import { operationRoutes } from '../http/operations/operation-routes.js';
import { allOperations } from '../operations/registry/registry.js';
import { PersonalDataController } from '../http/personal-data/personal-data.controller.js';
import { CodeLookUps } from '../http/referral-codes/code-look-ups.js';
import { ReferralCodesController } from '../http/referral-codes/referral-codes.controller.js';
import { ReferralsController } from '../http/referrals/referrals.controller.js';
import { RewardsController } from '../http/rewards/rewards.controller.js';
import { SubscriptionsController } from '../http/webhooks/subscriptions.controller.js';
import { TestDeliveries } from '../webhooks/deliveries/test-deliveries.js';
import { EndpointGuard } from '../webhooks/sending/endpoint-guard.js';
import { WebhookSubscriptions } from '../webhooks/subscriptions/webhook-subscriptions.js';
import type { Webhooks } from '../webhooks/webhooks.js';
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
import { OwnWrites, type Progress, type WaitLimits } from '../http/writing/own-writes.js';
import { Writes } from '../http/writing/writes.js';
import type { KeptAnswers } from '../idempotency/kept-answers.js';
import { POLICIES } from '../policies/policies.js';
import { KeyedNames } from '../privacy/keyed-names.js';
import { SigningKeys } from '../webhooks/signing/signing-keys.js';
import { LiveReads } from '../projecting/following/live-reads.js';
import { MailPreviews } from '../mails/mail-previews.js';
import { UnsubscribedAddresses } from '../mails/unsubscribed-addresses.js';
import type { SmtpSender } from '../mails/sending/smtp-sender.js';
import { ThemeChanges } from '../themes/theme-changes.js';
import { Themes } from '../themes/themes.js';
import type { Payments } from './start-payments.js';
import type { SlowReads } from '../projecting/following/slow-reads.js';
import { UnreadableAccounts } from '../projecting/following/unreadable-accounts.js';
import type { LiveGenerations } from '../projecting/generations/live-generations.js';

/** The parts of the module; src/process/service.ts opens them before and closes them after it. */
export interface ModuleParts {
  readonly core: Core;
  readonly generations: LiveGenerations;
  readonly answers: KeptAnswers;
  readonly rateLimits: RateLimits;
  readonly visits: ShareLinkVisits;
  readonly readiness: ReadinessProbe;
  readonly registry: Registry;
  readonly logger: Logger;
  readonly progress: Progress;
  /** The operators of the service. */
  readonly operators: CurrentOperators;
  readonly console: ConsoleGate;
  /** For reads of many rows. */
  readonly slowReads: SlowReads;
  /** For operations on read models. */
  readonly operationsPool: Pool;
  /** The operations that operators have started in this process. */
  readonly runs: OperationRuns;
  readonly waitLimits: WaitLimits;
  readonly publicUrl: () => string;
  readonly webhooks: Pick<Webhooks, 'guard' | 'tests'>;
  readonly payments: Payments;
  /** Counts wrong signatures together with wrong keys. */
  readonly failedCredentials: FailedCredentials;
  /** Who sends previews; undefined: no mail goes out. */
  readonly smtp: Pick<SmtpSender, 'send'> | undefined;
  readonly mailFrom: () => string;
  /** Whether this process serves tenants; health and metrics are in every process. */
  readonly api: boolean;
  /** Whether the console has the page with each of its components. */
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

const OPERATOR_CONTROLLERS = [OperationsController];

const CONSOLE_CONTROLLERS = [
  ConsoleAssetsController,
  ConsoleSessionsController,
  ConsoleRunsController,
  ConsoleHomeController,
  ConsoleOverviewController,
  ConsoleAccountController,
  ConsoleProjectionsController,
  ConsoleTenantProjectionsController,
  ConsoleStatementController,
  ConsoleReplayController,
  ConsoleReconcileController,
  ConsolePeriodsController,
  ConsoleVerifyController,
  ConsoleCorrectionsController,
  ConsoleModerationController,
  ConsoleWebhooksController,
  ConsoleEventsController,
  ConsoleExportsController,
  ConsoleExportFilesController,
  ConsoleMailsController,
  ConsolePaymentsController,
  ConsoleThemeController,
  ConsoleProgramController,
  ConsoleSettingsController,
];

/**
 * The composition root of the Nest application: makes everything that controllers and command
 * handlers need.
 */
@Module({})
export class AppModule {
  static async of(parts: ModuleParts): Promise<DynamicModule> {
    const routes = operationRoutes(await allOperations());
    return {
      module: AppModule,
      controllers: [
        ...(parts.api
          ? [...TENANT_CONTROLLERS, ...OPERATOR_CONTROLLERS, routes, ...CONSOLE_CONTROLLERS]
          : []),
        HealthController,
        MetricsController,
      ],
      providers: [...readModels(parts), ...http(parts), ...shown(parts)],
    };
  }
}

function readModels({ core, generations, slowReads }: ModuleParts): Provider[] {
  const reads = <Tables>(projection: string): LiveReads<Tables> =>
    new LiveReads(core.pool, generations, projection, slowReads);
  return [
    value(AccountQueries, new AccountQueries(reads('accounts'))),
    value(UserQueries, new UserQueries(reads('users'))),
    value(ReferralCodeQueries, new ReferralCodeQueries(reads('referral-codes'))),
    value(ReferralQueries, new ReferralQueries(reads('referrals'))),
    value(RewardQueries, new RewardQueries(reads('rewards'))),
    value(RewardBalanceQueries, new RewardBalanceQueries(reads('reward-balances'))),
    value(ExportQueries, new ExportQueries(reads('exports'))),
    value(DailyFigureQueries, new DailyFigureQueries(reads('daily-figures'))),
  ];
}

function http(parts: ModuleParts): Provider[] {
  const { core, answers, logger, progress, publicUrl } = parts;
  const ownWrites = new OwnWrites(core.log, progress, parts.waitLimits);
  const writes = new Writes(answers, ownWrites, core.names, logger);
  const settingOff = new Set<string>(POLICIES.flatMap(({ handles }) => [...handles]));
  const operations = new OperationsCore(
    core,
    parts.operationsPool,
    (line) => logger.warn(line),
    answers,
    parts.operators,
  );
  const ledgerOperations = new LedgerOperations(operations, parts.runs);
  const payments = new OperatedPayments(parts.payments.provider, parts.webhooks.guard, publicUrl);
  const calls = new OperationCalls(operations, parts.runs, payments);
  const pages = new TenantPages(ledgerOperations, calls);
  return [
    value(KeyedNames, core.names),
    value(UnsubscribedAddresses, new UnsubscribedAddresses(core.pool, core.names)),
    value(Exports, core.exports),
    value(ThemeChanges, core.themeChanges),
    value(Themes, new Themes(core.themeRows)),
    value(FileDownloads, new FileDownloads(core.downloads, new DownloadPlaces())),
    value(WebhookSubscriptions, core.webhooks),
    value(TestDeliveries, parts.webhooks.tests),
    value(EndpointGuard, parts.webhooks.guard),
    value(SigningKeys, new SigningKeys(core.pool, core.webhookKeysSealer)),
    value(PaymentEvents, parts.payments.events),
    value(OperatedPayments, payments),
    value(OperationCalls, calls),
    value(TenantDirectory, core.tenants),
    value(FailedCredentials, parts.failedCredentials),
    value(CodeOwners, core.owners),
    value(RateLimits, parts.rateLimits),
    value(OperationRuns, parts.runs),
    value(OperationsCore, operations),
    value(LedgerOperations, ledgerOperations),
    value(TenantPages, pages),
    value(EventDownloads, new EventDownloads(pages)),
    value(RememberedCredit, new RememberedCredit()),
    value(OwnWrites, ownWrites),
    value(ConsoleGate, parts.console),
    value(READINESS_PROBE, parts.readiness),
    value(METRICS_REGISTRY, parts.registry),
    value(
      CommandGateway,
      new CommandGateway(
        core.commands,
        writes,
        ownWrites,
        settingOff,
        new UnreadableAccounts(core.pool, accountProjectors),
      ),
    ),
    value(
      ShareLinkRedirects,
      new ShareLinkRedirects(parts.visits, core.owners, core.tenants, publicUrl),
    ),
  ];
}

/** What shows facts of several read models together. */
function shown({ core, publicUrl, smtp, mailFrom }: ModuleParts): Provider[] {
  return [
    made(
      UserLookUps,
      [CommandGateway, UserQueries, ReferralCodeQueries],
      (gateway: CommandGateway, users: UserQueries, codes: ReferralCodeQueries) =>
        new UserLookUps(gateway, users, codes, core.names),
    ),
    made(
      Presentation,
      [UserQueries, RewardQueries],
      (users: UserQueries, rewards: RewardQueries) =>
        new Presentation(core.tenants, users, rewards, publicUrl),
    ),
    made(
      SharePages,
      [Themes],
      (themes: Themes) =>
        new SharePages(core.owners, core.tenants, core.themeRows, themes, publicUrl),
    ),
    made(
      MailPreviews,
      [Themes],
      (themes: Themes) =>
        new MailPreviews({
          themes,
          tenants: core.tenants,
          testAddresses: core.mailTestAddresses,
          names: core.names,
          smtp,
          publicUrl,
          mailFrom,
        }),
    ),
    made(
      CodeLookUps,
      [CommandGateway, ReferralCodeQueries],
      (gateway: CommandGateway, codes: ReferralCodeQueries) =>
        new CodeLookUps(gateway, codes, core.tenants),
    ),
    made(
      AccountDiscounts,
      [AccountQueries, RewardBalanceQueries, ReferralCodeQueries],
      (accounts: AccountQueries, balances: RewardBalanceQueries, codes: ReferralCodeQueries) =>
        new AccountDiscounts(
          accounts,
          balances,
          codes,
          new Coupons(core.streams, core.owners, core.tenants, core.names),
        ),
    ),
  ];
}

const value = (provide: InjectionToken, useValue: unknown): ValueProvider => ({
  provide,
  useValue,
});

const made = <A extends unknown[]>(
  provide: InjectionToken,
  inject: InjectionToken[],
  useFactory: (...parts: A) => unknown,
): FactoryProvider => ({
  provide,
  inject,
  useFactory,
});
