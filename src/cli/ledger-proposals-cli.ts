import type { Command } from 'commander';
import { operatingSystemUser } from '../operations/audit.js';
import {
  approveOnRecord,
  proposeOnRecord,
  waitingProposals,
} from '../operations/ledger/ledger-proposals.js';
import { proposalNameOf } from '../operations/ledger/proposal-id.js';
import { filled, scopeOf } from './arguments.js';
import { CommandError } from './command-error.js';
import { note, printJson, printTable } from './command-line.js';
import { parseAmount, parseIdempotencyKey, parseUnit } from './correction-arguments.js';
import { audited, ledgerGroup, withLedgerOptions, type LedgerOptions } from './ledger-command.js';
import { withOwnKeys } from './own-keys.js';

interface ProposeOptions extends LedgerOptions {
  readonly user: string;
  readonly unit: string;
  readonly amount: string;
  readonly reason: string;
  readonly idempotencyKey?: string;
}

/** The newest proposals that `ledger proposals` shows. */
const SHOWN_MAX = 1_000;

/** `ledger propose`, `approve` and `proposals`. */
export function addProposalCommands(cli: Command): void {
  const ledger = ledgerGroup(cli);
  withLedgerOptions(ledger.command('propose <tenant> <account>'))
    .description("proposes a correction of a user's credit, for another operator to approve")
    .requiredOption('--user <user>', 'the user of the account')
    .requiredOption('--unit <unit>', 'the unit of the credit')
    .requiredOption('--amount <amount>', '+n adds a manual reward, -n redeems')
    .requiredOption('--reason <text>', 'why')
    .option('--idempotency-key <key>', 'the same key again is the same proposal')
    .action(async (alias: string, accountId: string, options: ProposeOptions) => {
      const { mode, json } = options;
      const by = options.by ?? operatingSystemUser();
      const scope = scopeOf(alias, mode);
      const request = {
        accountId,
        userId: options.user,
        unit: parseUnit(options.unit),
        amount: parseAmount(options.amount),
        reason: filled('--reason', options.reason),
        by,
      };
      const key = parseIdempotencyKey(options.idempotencyKey);
      const proposed = await audited(scope, by, 'ledger propose', (core) =>
        withOwnKeys(core, key, (keyed) => proposeOnRecord(core, scope, request, keyed), 'proposal'),
      );
      if (json) return printJson(proposed);
      process.stdout.write(`proposed ${proposed.id}; to be approved by ${proposed.expiresAt}\n`);
    });

  ledger
    .command('approve <id>')
    .description('appends a correction that another operator has proposed')
    .option('--by <name>', 'who approves it; default: the user of the operating system')
    .option('--json', 'one JSON document')
    .action(async (id: string, { by, json }: Pick<LedgerOptions, 'by' | 'json'>) => {
      const name = proposalNameOf(id);
      if (name === undefined)
        throw new CommandError(`${JSON.stringify(id.slice(0, 80))} is no id of a proposal`);
      const who = by ?? operatingSystemUser();
      const approved = await audited(name.scope, who, 'ledger approve', (core) =>
        approveOnRecord(core, { name, by: who, now: Date.now(), onReplayed: noteRepetition }),
      );
      if (json) return printJson(approved);
      process.stdout.write(`approved: event ${approved.eventId} at ${approved.position ?? ''}\n`);
    });

  withLedgerOptions(ledger.command('proposals <tenant>'))
    .description('the corrections that wait for their approval, newest first')
    .action(async (alias: string, { mode, by, json }: LedgerOptions) => {
      const scope = scopeOf(alias, mode);
      const waiting = await audited(scope, by, 'ledger proposals', async (core) => {
        const result = await waitingProposals(core, scope, { limit: SHOWN_MAX, now: Date.now() });
        return { result, parameters: {} };
      });
      if (json) return printJson(waiting);
      printTable(
        ['id', 'account', 'user', { amount: 'amount' }, 'unit', 'reason', 'proposed by', 'until'],
        waiting.map((one) => [
          one.id,
          one.account ?? '',
          one.user ?? '',
          String(one.amount),
          one.unit,
          one.reason ?? '',
          one.proposedBy ?? '',
          one.expiresAt,
        ]),
      );
    });
}

const noteRepetition = (): void => note('a repetition: nothing was corrected a second time');
