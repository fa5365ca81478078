import type { Command } from 'commander';
import { addChainCommands } from './ledger-chain-cli.js';

/** `ledger …` */
export function addLedgerCommands(cli: Command): void {
  const ledger = cli.command('ledger').description('what a ledger holds, and whether it still holds it');
  addChainCommands(ledger);
}
