import type { Command } from 'commander';
import { loadConfig, publicUrlAt } from '../config/config.js';
import type { Core } from '../stores/core.js';
import type { Scope } from '../domain/scope.js';
import { OPERATOR, operatingSystemUser } from '../operations/audit.js';
import { auditedOn } from '../operations/audited.js';
import { NotDone, type Outcome } from '../operations/outcome.js';
import {
  connectPayments,
  disconnectPayments,
  showPayer,
  showPayments,
  syncTenantPayments,
  type PaymentWorld,
} from '../operations/payments/payment-commands.js';
import { reconcilePayments } from '../operations/payments/payment-reconciliation.js';
import { filled, scopeOf } from './arguments.js';
import { note, printJson, readTextFile, withCore, type OutputOptions } from './command-line.js';
import { CommandError } from './command-error.js';
import { done } from './outcomes.js';

interface ScopeOptions extends OutputOptions {
  readonly mode: string;
}

interface ConnectOptions extends ScopeOptions {
  readonly provider: string;
  readonly secretKeyFile: string;
  readonly webhookSecretFile: string;
  readonly apiBase?: string;
}

/** `payment …` */
export function addPaymentCommands(cli: Command): void {
  const payment = cli.command('payment').description('the payment provider of a tenant');
  const command = (words: string, description: string): Command =>
    payment
      .command(words)
      .description(description)
      .option('--mode <mode>', 'live or test', 'live')
      .option('--json', 'one JSON document');
  command('connect <tenant>', 'connects a tenant and mode, or replaces the connection')
    .requiredOption('--provider <name>', 'stripe')
    .requiredOption('--secret-key-file <file>', 'the secret key of the same mode')
    .requiredOption('--webhook-secret-file <file>', 'the secret that verifies its events')
    .option('--api-base <url>', 'another server of the same interface')
    .action(connect);
  command('show <tenant>', 'the connection, with masked secrets, or an account')
    .option('--account <id>', 'its customer at the provider')
    .action(show);
  command('sync <tenant>', 'records what the provider has and no event told')
    .option('--since <time>', 'invoices and subscriptions made from then on; default: 30 days ago')
    .action(sync);
  command('reconcile <tenant>', 'compares ledger and provider; exit 2: they differ').action(
    reconcile,
  );
  command('disconnect <tenant>', 'destroys the secrets; what was recorded stays').action(
    async (tenant: string, { mode, json }: ScopeOptions) => {
      const scope = scopeOf(tenant, mode);
      const shown = await onRecord(scope, 'payment disconnect', (core) =>
        disconnectPayments(core, { publicUrl }, scope, OPERATOR),
      );
      print(shown, json);
    },
  );
}

async function show(
  tenant: string,
  { mode, json, account }: ScopeOptions & { readonly account?: string },
): Promise<void> {
  const scope = scopeOf(tenant, mode);
  const shown = await withCore<object>(async (core) =>
    account === undefined
      ? done(await showPayments(core, { publicUrl }, scope))
      : done(await showPayer(core, scope, filled('--account', account))),
  );
  print(shown, json);
}

async function sync(
  tenant: string,
  { mode, json, since }: ScopeOptions & { readonly since?: string },
): Promise<void> {
  const scope = scopeOf(tenant, mode);
  const synced = await withWorld((world) =>
    onRecord(scope, 'payment sync', (core) => syncTenantPayments(core, world, scope, { since })),
  );
  print(synced, json);
}

async function reconcile(tenant: string, { mode, json }: ScopeOptions): Promise<void> {
  const scope = scopeOf(tenant, mode);
  const result = await withWorld((world) =>
    onRecord(scope, 'payment reconcile', (core) => reconcilePayments(core, world, scope)),
  );
  print(result, json);
  if (!result.ok) throw new CommandError(`${result.differences.length} differences`, 2);
}

async function connect(tenant: string, options: ConnectOptions): Promise<void> {
  const { mode, json, provider, secretKeyFile, webhookSecretFile, apiBase } = options;
  const scope = scopeOf(tenant, mode);
  const [secretKey, webhookSecret] = await Promise.all(
    [secretKeyFile, webhookSecretFile].map(async (file) => (await readTextFile(file)).trim()),
  );
  const request = {
    provider,
    secretKey: secretKey ?? '',
    webhookSecret: webhookSecret ?? '',
    apiBase,
    actor: OPERATOR,
  };
  const shown = await withWorld((world) =>
    onRecord(scope, 'payment connect', (core) => connectPayments(core, world, scope, request)),
  );
  print(shown, json);
}

/** The provider's package is loaded by the commands that call it. */
async function withWorld<T>(work: (world: PaymentWorld) => Promise<T>): Promise<T> {
  const { EndpointGuard } = await import('../webhooks/sending/endpoint-guard.js');
  const { StripeProvider } = await import('../payments/stripe/stripe-provider.js');
  const guard = new EndpointGuard({ allowed: loadConfig().webhookAllowCidrs });
  const provider = new StripeProvider(guard);
  try {
    return await work({ provider: () => Promise.resolve(provider), guard, publicUrl });
  } finally {
    await provider.close();
  }
}

function publicUrl(): string {
  const config = loadConfig();
  return publicUrlAt(config, config.port);
}

/** Runs a change with its audit event. */
function onRecord<T extends object>(
  scope: Scope,
  operation: string,
  work: (core: Core) => Promise<Outcome<T>>,
): Promise<T> {
  const frame = { scope, by: operatingSystemUser(), operation, warn: note };
  return withCore(async (core) =>
    done(
      await auditedOn(core, frame, async () => {
        const result = await work(core);
        if (result instanceof NotDone) return result;
        return { result, parameters: {}, completed: `${operation} is done` };
      }),
    ),
  );
}

function print(shown: object, json: boolean | undefined): void {
  if (json) return printJson(shown);
  for (const [name, value] of Object.entries(shown))
    process.stdout.write(`${name}: ${textOf(value)}\n`);
}

const textOf = (value: unknown): string => {
  if (typeof value === 'string') return value;
  return value === null || value === undefined ? '' : JSON.stringify(value);
};
