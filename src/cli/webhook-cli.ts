import type { Command } from 'commander';
import { addEndpointCommands } from './webhook-endpoints-cli.js';
import { addSigningKeyCommands } from './webhook-keys-cli.js';
import { addListenCommand } from './webhook-listen-cli.js';

/** `webhook …` */
export function addWebhookCommands(cli: Command): void {
  const webhook = cli.command('webhook').description('endpoints that are told what happens');
  addEndpointCommands(webhook);
  addSigningKeyCommands(webhook);
  addListenCommand(webhook);
}
