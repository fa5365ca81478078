import { CommandBus, CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import type { KeyedNames } from '../privacy/keyed-names.js';
import { AccountCommands } from './account-commands.js';
import {
  AuditCommandHandler,
  CountVisitsHandler,
  ExportCommandHandler,
  ModerationCommandHandler,
  OperationCommandHandler,
  PeriodCommandHandler,
  ProposalCommandHandler,
  ProviderEventHandler,
  RepeatErasureHandler,
  TenantCommandHandler,
  ThemeCommandHandler,
  WebhookCommandHandler,
} from './command-handlers.js';
import { AccountCommandEnvelope } from './commands.js';
import type { ErasureProcess } from './processes/erasure-process.js';
import type { ModerationProcess } from './processes/moderation-process.js';
import type { Streams } from './streams.js';

/** What the handlers are made of. */
export interface CommandBusParts {
  readonly streams: Streams;
  readonly names: KeyedNames;
  readonly accounts: AccountCommands;
  readonly moderations: ModerationProcess;
  readonly erasures: ErasureProcess;
  /** Tells every process that a tenant has changed. */
  readonly announceTenant: (alias: string) => Promise<void>;
}

/**
 * Nest's CommandBus with every handler on it, made without a Nest application: the service, the
 * command line and the benchmarks send their commands through the same one.
 */
export function openCommandBus(parts: CommandBusParts): CommandBus {
  const { streams, names, accounts, moderations, erasures, announceTenant } = parts;
  const handlers: readonly ICommandHandler[] = [
    accounts,
    new AuditCommandHandler(streams, names),
    new CountVisitsHandler(streams, names),
    new ExportCommandHandler(streams, names),
    new ModerationCommandHandler(moderations, streams, names),
    new OperationCommandHandler(streams, names),
    new PeriodCommandHandler(streams, names),
    new ProposalCommandHandler(streams, names),
    new ProviderEventHandler(streams, names),
    new RepeatErasureHandler(erasures),
    new TenantCommandHandler(streams, names, announceTenant),
    new ThemeCommandHandler(streams, names),
    new WebhookCommandHandler(streams, names, announceTenant),
  ];
  // The bus asks for modules only for handlers made per request, of which there are none.
  const bus = new CommandBus(undefined as unknown as ConstructorParameters<typeof CommandBus>[0]);
  bus.register(handlers.map(registered));
  return bus;
}

// Applied here and not above the classes: opening a core loads those, and not the framework.
CommandHandler(AccountCommandEnvelope)(AccountCommands);

type Registered = NonNullable<Parameters<CommandBus['register']>[0]>[number];

/**
 * A handler as Nest's modules present it to the bus. Cast: its class has private members, and comes
 * with the part of Nest that stays at the edge.
 */
const registered = (instance: ICommandHandler): Registered =>
  ({
    instance,
    metatype: instance.constructor,
    isDependencyTreeStatic: () => true,
  }) as unknown as Registered;
