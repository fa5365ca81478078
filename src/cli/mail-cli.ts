import type { Command } from 'commander';
import { MAIL_STATES, type MailState } from '../mails/deliveries/shown-mails.js';
import { operatingSystemUser } from '../operations/audit.js';
import { auditedOn } from '../operations/audited.js';
import { resendOneMail, showMails } from '../operations/mails/mail-commands.js';
import { LIMIT_MAX, parseLimit, scopeOf } from './arguments.js';
import { CommandError } from './command-error.js';
import { note, printJson, printTable, withCore, type OutputOptions } from './command-line.js';
import { done } from './outcomes.js';

interface ScopeOptions extends OutputOptions {
  readonly mode: string;
}

/** `mail …` */
export function addMailCommands(cli: Command): void {
  const mail = cli.command('mail').description('mails to the people of a tenant');
  mail
    .command('deliveries <tenant>')
    .description('mails, newest first')
    .option('--mode <mode>', 'live or test', 'live')
    .option('--state <state>', MAIL_STATES.join(', '))
    .option('--limit <number>', `entries to show, up to ${LIMIT_MAX}`, '100')
    .option('--json', 'one JSON document')
    .action(deliveries);
  mail
    .command('resend <tenant> <delivery>')
    .description('sends a mail again that has ended, with the same Message-ID')
    .option('--mode <mode>', 'live or test', 'live')
    .option('--json', 'one JSON document')
    .action(sendAgain);
}

async function deliveries(
  tenant: string,
  options: ScopeOptions & { readonly state?: string; readonly limit: string },
): Promise<void> {
  const scope = scopeOf(tenant, options.mode);
  const limit = parseLimit(options.limit);
  const state = options.state === undefined ? undefined : parseState(options.state);
  const found = await withCore(async (core) =>
    done(await showMails(core, scope, { state, limit })),
  );
  if (options.json) return printJson(found);
  printTable(
    ['id', 'type', 'state', { amount: 'attempts' }, 'next', 'reason', 'created'],
    found.map(({ id, type, state: now, attempts, nextAttemptAt, reason, created }) => [
      id,
      type,
      now,
      String(attempts),
      nextAttemptAt ?? '',
      reason ?? '',
      created,
    ]),
  );
  if (found.length === limit) note(`the newest ${limit}; there may be more`);
}

async function sendAgain(tenant: string, id: string, { mode, json }: ScopeOptions): Promise<void> {
  const scope = scopeOf(tenant, mode);
  const frame = { scope, by: operatingSystemUser(), operation: 'mail resend', warn: note };
  const result = await withCore(async (core) =>
    done(await auditedOn(core, frame, () => resendOneMail(core, scope, id))),
  );
  if (json) printJson(result);
  else process.stdout.write(`${result.resent} sent again\n`);
}

function parseState(text: string): MailState {
  const state = MAIL_STATES.find((known) => known === text);
  if (state === undefined)
    throw new CommandError(`--state must be one of ${MAIL_STATES.join(', ')}`);
  return state;
}
