import type { Command } from 'commander';
import { loadConfig, publicUrlAt } from '../config/config.js';
import { listenToWebhooks, type ListenReports } from '../operations/webhooks/listen-to-webhooks.js';
import { WEBHOOK_TYPES, type WebhookType } from '../webhooks/payloads/announced.js';
import { loopbackProblem, WebhookForwarder } from '../webhooks/sending/webhook-forwarder.js';
import type { WebhookEnvelope } from '../webhooks/signing/signed-webhook.js';
import { SigningKeys } from '../webhooks/signing/signing-keys.js';
import { scopeOf } from './arguments.js';
import { CommandError } from './command-error.js';
import { note, withCore, type OutputOptions } from './command-line.js';
import { done } from './outcomes.js';

interface ListenOptions extends OutputOptions {
  readonly mode: string;
  readonly forwardTo?: string;
  readonly types?: string;
}

/** `webhook listen`. */
export function addListenCommand(webhook: Command): void {
  webhook
    .command('listen <tenant>')
    .description('a line for each event from now on, and a signed POST, until Ctrl-C')
    .option('--mode <mode>', 'live or test', 'live')
    .option('--forward-to <url>', 'a receiver on this machine')
    .option('--types <types>', `some of ${WEBHOOK_TYPES.join(',')}; default: all`)
    .option('--json', 'the lines are JSON documents: the bodies of the webhooks')
    .action(listen);
}

async function listen(
  tenant: string,
  { mode, forwardTo, types, json }: ListenOptions,
): Promise<void> {
  const scope = scopeOf(tenant, mode);
  const wanted = types === undefined ? undefined : parseTypes(types);
  const problem = forwardTo === undefined ? undefined : loopbackProblem(forwardTo);
  if (problem !== undefined) throw new CommandError(`--forward-to ${problem}`);
  const config = loadConfig();
  const stopping = new AbortController();
  const stop = (): void => stopping.abort();
  process.on('SIGINT', stop).on('SIGTERM', stop);
  // Nobody reads any more.
  process.stdout.on('error', stop);
  try {
    await withCore(async (core) => {
      const keys = new SigningKeys(core.pool, core.webhookKeysSealer);
      const forwarder = forwardTo === undefined ? undefined : new WebhookForwarder(forwardTo, keys);
      const request = {
        types: wanted,
        forwarder,
        publicUrl: publicUrlAt(config, config.port),
        signal: stopping.signal,
      };
      const began = (): void => {
        if (forwarder) note(`forwarding to ${forwardTo}, with the secret ${forwarder.secret}`);
        note(`listening to ${tenant} (${mode}) until Ctrl-C`);
      };
      try {
        done(await listenToWebhooks(core, scope, request, { ...reportsTo(json), began }));
      } finally {
        await forwarder?.close();
      }
    });
  } finally {
    process.off('SIGINT', stop).off('SIGTERM', stop);
    process.stdout.off('error', stop);
  }
}

const reportsTo = (json: boolean | undefined): Omit<ListenReports, 'began'> => ({
  webhook: (envelope) => {
    const line = json ? JSON.stringify(envelope) : lineOf(envelope);
    process.stdout.write(`${line}\n`);
  },
  forwarded: ({ id, type }, posted) => {
    if (posted.kind === 'failed') note(`${type} ${id} was not forwarded: ${posted.reason}`);
    else if (posted.status < 200 || posted.status > 299)
      note(`${type} ${id} was answered with ${posted.status}`);
  },
  problem: note,
});

const lineOf = ({ id, type, created, data }: WebhookEnvelope): string =>
  `${new Date(created).toISOString()} ${type} ${id} ${printable(JSON.stringify(data))}`;

/** JSON escapes the control characters of ASCII; terminals obey others as well. */
const printable = (json: string): string =>
  json.replace(
    /[\u007f-\u009f\u2028-\u202e\u2066-\u2069]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );

function parseTypes(text: string): readonly WebhookType[] {
  return text.split(',').map((word) => {
    const type = WEBHOOK_TYPES.find((known) => known === word.trim());
    if (type === undefined)
      throw new CommandError(`--types takes some of ${WEBHOOK_TYPES.join(',')}`);
    return type;
  });
}
