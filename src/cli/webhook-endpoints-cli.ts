import type { Command } from 'commander';
import type { Core } from '../stores/core.js';
import type { Scope } from '../domain/scope.js';
import { OPERATOR, operatingSystemUser } from '../operations/audit.js';
import { auditedOn, type Done } from '../operations/audited.js';
import { NotDone, type Outcome } from '../operations/outcome.js';
import {
  enableOnRecord,
  resendOnRecord,
  rotateEndpointSecret,
  showDeliveries,
  showDelivery,
  showEndpoints,
} from '../operations/webhooks/webhook-commands.js';
import { DELIVERY_STATES, type DeliveryState } from '../webhooks/deliveries/shown-deliveries.js';
import { WEBHOOK_TYPES, type WebhookType } from '../webhooks/payloads/announced.js';
import { filled, LIMIT_MAX, parseLimit, scopeOf } from './arguments.js';
import { CommandError } from './command-error.js';
import {
  note,
  parseDuration,
  printJson,
  printTable,
  withCore,
  type OutputOptions,
} from './command-line.js';
import { done } from './outcomes.js';

interface ScopeOptions extends OutputOptions {
  readonly mode: string;
}

interface DeliveriesOptions extends ScopeOptions {
  readonly endpoint?: string;
  readonly state?: string;
  readonly type?: string;
  readonly since?: string;
  readonly limit: string;
}

const command = (webhook: Command, words: string, description: string): Command =>
  webhook
    .command(words)
    .description(description)
    .option('--mode <mode>', 'live or test', 'live')
    .option('--json', 'one JSON document');

/** `webhook list`, `deliveries`, `show`, `resend`, `enable` and `rotate-secret`. */
export function addEndpointCommands(webhook: Command): void {
  command(webhook, 'list <tenant>', 'endpoints: state, waiting and dead deliveries').action(
    async (tenant: string, { mode, json }: ScopeOptions) => {
      const scope = scopeOf(tenant, mode);
      const endpoints = await withCore(async (core) => done(await showEndpoints(core, scope)));
      if (json) return printJson(endpoints);
      printTable(
        [
          'url',
          'name',
          'types',
          'state',
          { amount: 'waiting' },
          { amount: 'dead' },
          'last success',
        ],
        endpoints.map(({ endpointUrl, name, eventTypes, state, waiting, dead, lastSuccess }) => [
          endpointUrl,
          name ?? '',
          eventTypes?.join(', ') ?? 'all',
          state,
          String(waiting),
          String(dead),
          lastSuccess ?? '',
        ]),
      );
    },
  );
  command(webhook, 'deliveries <tenant>', 'deliveries, newest first')
    .option('--endpoint <url>', 'of this endpoint')
    .option('--state <state>', DELIVERY_STATES.join(', '))
    .option('--type <type>', 'of this type of event')
    .option('--since <time>', 'of events from this time on')
    .option('--limit <number>', `entries to show, up to ${LIMIT_MAX}`, '100')
    .action(deliveries);
  command(webhook, 'show <tenant> <delivery>', 'a delivery with its attempts').action(show);
  command(
    webhook,
    'resend <tenant> [delivery]',
    'sends a delivery again, or all of an endpoint since a time, with the same ids',
  )
    .option('--endpoint <url>', 'all of this endpoint; with --since')
    .option('--since <time>', 'of events from this time on')
    .action(sendAgain);
  command(webhook, 'enable <tenant>', 'deliveries to a disabled endpoint begin again')
    .requiredOption('--endpoint <url>', 'its URL')
    .action(async (tenant: string, { mode, endpoint }: ScopeOptions & { endpoint: string }) => {
      const url = filled('--endpoint', endpoint);
      const result = await onRecord(scopeOf(tenant, mode), 'webhook enable', (core, scope) =>
        enableOnRecord(core, scope, url, OPERATOR),
      );
      printJson(result);
    });
  command(webhook, 'rotate-secret <tenant>', 'a new secret; the one before signs for the grace')
    .requiredOption('--endpoint <url>', 'its URL')
    .option('--grace <duration>', 'how long the old one signs as well; 0 ends it now', '24h')
    .action(rotateSecret);
}

async function deliveries(tenant: string, options: DeliveriesOptions): Promise<void> {
  const { endpoint, since } = options;
  const scope = scopeOf(tenant, options.mode);
  const limit = parseLimit(options.limit);
  const state = options.state === undefined ? undefined : parseState(options.state);
  const type = options.type === undefined ? undefined : parseType(options.type);
  const selection = { endpoint, state, type, since, limit };
  const found = await withCore(async (core) => done(await showDeliveries(core, scope, selection)));
  if (options.json) return printJson(found);
  printTable(
    ['id', 'type', 'url', 'state', { amount: 'attempts' }, 'next', 'created'],
    found.map(({ id, type: of, endpointUrl, state: now, attempts, nextAttemptAt, created }) => [
      id,
      of,
      endpointUrl ?? '(unsubscribed)',
      now,
      String(attempts),
      nextAttemptAt ?? '',
      created,
    ]),
  );
  if (found.length === limit) note(`the newest ${limit}; there may be more`);
}

async function show(tenant: string, id: string, { mode, json }: ScopeOptions): Promise<void> {
  const scope = scopeOf(tenant, mode);
  const delivery = await withCore(async (core) => done(await showDelivery(core, scope, id)));
  if (json) return printJson(delivery);
  const { attempts, ...facts } = delivery;
  for (const [name, value] of Object.entries(facts))
    process.stdout.write(`${name}: ${value ?? ''}\n`);
  printTable(
    ['attempt', 'answer', { amount: 'ms' }],
    attempts.map(({ at, status, reason, ms }) => [at, String(status ?? reason), String(ms)]),
  );
}

async function sendAgain(
  tenant: string,
  id: string | undefined,
  { mode, json, endpoint, since }: ScopeOptions & { endpoint?: string; since?: string },
): Promise<void> {
  const scope = scopeOf(tenant, mode);
  const which = whichOf(id, endpoint, since);
  const result = await onRecord(scope, 'webhook resend', (core) =>
    resendOnRecord(core, scope, which),
  );
  if (json) printJson(result);
  else process.stdout.write(`${result.resent} sent again\n`);
}

function whichOf(
  id: string | undefined,
  endpoint: string | undefined,
  since: string | undefined,
): { readonly id: string } | { readonly endpoint: string; readonly since: string } {
  if (id !== undefined && endpoint === undefined && since === undefined) return { id };
  if (id === undefined && endpoint !== undefined && since !== undefined) return { endpoint, since };
  throw new CommandError('name one delivery, or --endpoint and --since');
}

async function rotateSecret(
  tenant: string,
  { mode, endpoint, grace }: ScopeOptions & { endpoint: string; grace: string },
): Promise<void> {
  const scope = scopeOf(tenant, mode);
  const asked = { endpoint: filled('--endpoint', endpoint), graceMs: parseDuration(grace) };
  const result = await onRecord(scope, 'webhook rotate-secret', async (core) => {
    const rotated = await rotateEndpointSecret(core, scope, asked, OPERATOR);
    if (rotated instanceof NotDone) return rotated;
    const completed = 'the endpoint has a new secret';
    return { result: rotated, parameters: { grace }, digest: 'secret', completed };
  });
  printJson(result);
  note(`This secret is shown this once. The one before signs as well for ${grace}.`);
}

/** Runs a change with its audit event. */
function onRecord<T>(
  scope: Scope,
  operation: string,
  work: (core: Core, scope: Scope) => Promise<Outcome<Done<T>>>,
): Promise<T> {
  const frame = { scope, by: operatingSystemUser(), operation, warn: note };
  return withCore(async (core) =>
    done(await auditedOn(core, frame, (opened) => work(opened, scope))),
  );
}

function parseState(text: string): DeliveryState {
  const state = DELIVERY_STATES.find((known) => known === text);
  if (state === undefined)
    throw new CommandError(`--state must be one of ${DELIVERY_STATES.join(', ')}`);
  return state;
}

function parseType(text: string): WebhookType {
  const type = WEBHOOK_TYPES.find((known) => known === text);
  if (type === undefined)
    throw new CommandError(`--type must be one of ${WEBHOOK_TYPES.join(', ')}`);
  return type;
}
