import { CommandBus, CommandHandler, type ICommand, type ICommandHandler } from '@nestjs/cqrs';
import { AccountCommands } from './account-commands.js';
import {
  changePeriod,
  changeWebhooks,
  countVisits,
  ModerationCommandHandler,
  ProposalCommandHandler,
  ProviderEventHandler,
  recordEndOfProposal,
  recordLook,
  recordOperation,
  recordThemeChange,
  repeatErasure,
  stepExport,
  TenantCommandHandler,
  type HandlerParts,
} from './command-handlers.js';
import {
  AccountCommandEnvelope,
  AuditCommandEnvelope,
  CountVisitsEnvelope,
  EndProposalEnvelope,
  ExportCommandEnvelope,
  OperationCommandEnvelope,
  PeriodCommandEnvelope,
  RepeatErasureEnvelope,
  ThemeCommandEnvelope,
  WebhookCommandEnvelope,
} from './commands.js';
import type { ModerationProcess } from './processes/moderation-process.js';

export interface CommandBusParts extends HandlerParts {
  readonly accounts: AccountCommands;
  readonly moderations: ModerationProcess;
}

/**
 * Nest's CommandBus with every handler on it, made without a Nest application: the service, the
 * command line and the benchmarks send their commands through the same one.
 */
export function openCommandBus(parts: CommandBusParts): CommandBus {
  const { streams, names, accounts, moderations, announceTenant } = parts;
  const handlers: readonly ICommandHandler[] = [
    accounts,
    new ModerationCommandHandler(moderations, streams, names),
    new ProposalCommandHandler(streams, names),
    new ProviderEventHandler(streams, names),
    new TenantCommandHandler(streams, names, announceTenant),
    handlerOf(AuditCommandEnvelope, recordLook(parts)),
    handlerOf(CountVisitsEnvelope, countVisits(parts)),
    handlerOf(EndProposalEnvelope, recordEndOfProposal(parts)),
    handlerOf(ExportCommandEnvelope, stepExport(parts)),
    handlerOf(OperationCommandEnvelope, recordOperation(parts)),
    handlerOf(PeriodCommandEnvelope, changePeriod(parts)),
    handlerOf(RepeatErasureEnvelope, repeatErasure(parts)),
    handlerOf(ThemeCommandEnvelope, recordThemeChange(parts)),
    handlerOf(WebhookCommandEnvelope, changeWebhooks(parts)),
  ];
  // The bus asks for modules only for handlers made per request, of which there are none.
  const bus = new CommandBus(undefined as unknown as ConstructorParameters<typeof CommandBus>[0]);
  bus.register(handlers.map(registered));
  return bus;
}

// Applied here and not above the classes: opening a core loads those, and not the framework.
CommandHandler(AccountCommandEnvelope)(AccountCommands);

/** A function as the bus takes it: the command of a handler is named at its class. */
function handlerOf<C extends ICommand>(
  command: new (...parts: never[]) => C,
  execute: (command: C) => Promise<unknown>,
): ICommandHandler {
  class Handler {
    readonly execute = execute;
  }
  CommandHandler(command)(Handler);
  return new Handler();
}

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
