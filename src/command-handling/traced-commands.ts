import type { Command } from '@nestjs/cqrs';
import { inSpan } from '../foundation/tracing.js';
import type { Commands } from './commands.js';

/** Each command in a span with its type and its ledger. */
export const tracedCommands = (commands: Commands): Commands => ({
  execute: <R>(command: Command<R>): Promise<R> => {
    const type = typeOf(command);
    const attributes = { 'ledger.command': type, ...scopeOf(memberOf(command, 'meta')) };
    return inSpan(`command ${type}`, attributes, () => commands.execute(command));
  },
});

/** E.g. `RedeemCredit`; of a command without a type of its own the name of its class. */
function typeOf(command: object): string {
  for (const member of ['request', 'command', 'operation']) {
    const type = memberOf(memberOf(command, member), 'type');
    if (typeof type === 'string') return type;
  }
  return command.constructor.name;
}

function scopeOf(meta: unknown): Readonly<Record<string, string>> {
  const scope = memberOf(meta, 'scope');
  const [tenant, mode] = [memberOf(scope, 'tenant'), memberOf(scope, 'mode')];
  return typeof tenant === 'string' && typeof mode === 'string'
    ? { 'ledger.tenant': tenant, 'ledger.mode': mode }
    : {};
}

const memberOf = (value: unknown, name: string): unknown =>
  typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined;
