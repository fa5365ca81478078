import { CommandBus, CommandHandler, type ICommand, type ICommandHandler } from '@nestjs/cqrs';
import type { AccountCommands } from './account-commands.js';
import {
  changePeriod,
  changeTenant,
  countVisits,
  moderate,
  proposeCorrection,
  recordEndOfProposal,
  recordAccess,
  recordOperation,
  recordProviderEvent,
  recordThemeChange,
  repeatErasure,
  stepExport,
  type HandlerParts,
} from './command-handlers.js';
import {
  AccountCommandEnvelope,
  AuditCommandEnvelope,
  CountVisitsEnvelope,
  EndProposalEnvelope,
  ExportCommandEnvelope,
  ModerationCommandEnvelope,
  OperationCommandEnvelope,
  PeriodCommandEnvelope,
  ProposalCommandEnvelope,
  ProviderEventEnvelope,
  RepeatErasureEnvelope,
  TenantCommandEnvelope,
  ThemeCommandEnvelope,
} from './commands.js';

export interface CommandBusParts extends HandlerParts {
  readonly accounts: AccountCommands;
}

/** Nest's CommandBus with every handler, without a Nest application. */
export function openCommandBus(parts: CommandBusParts): CommandBus {
  const handlers: readonly ICommandHandler[] = [
    handlerOf(AccountCommandEnvelope, (command) => parts.accounts.execute(command)),
    handlerOf(ModerationCommandEnvelope, moderate(parts)),
    handlerOf(ProposalCommandEnvelope, proposeCorrection(parts)),
    handlerOf(ProviderEventEnvelope, recordProviderEvent(parts)),
    handlerOf(TenantCommandEnvelope, changeTenant(parts)),
    handlerOf(AuditCommandEnvelope, recordAccess(parts)),
    handlerOf(CountVisitsEnvelope, countVisits(parts)),
    handlerOf(EndProposalEnvelope, recordEndOfProposal(parts)),
    handlerOf(ExportCommandEnvelope, stepExport(parts)),
    handlerOf(OperationCommandEnvelope, recordOperation(parts)),
    handlerOf(PeriodCommandEnvelope, changePeriod(parts)),
    handlerOf(RepeatErasureEnvelope, repeatErasure(parts)),
    handlerOf(ThemeCommandEnvelope, recordThemeChange(parts)),
  ];
  // The bus needs modules only for handlers made per request, of which there are none.
  const bus = new CommandBus(undefined as unknown as ConstructorParameters<typeof CommandBus>[0]);
  bus.register(handlers.map(registered));
  return bus;
}

/** A function as the bus takes it: its class names the command. */
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

/** A handler as Nest's modules present it; cast, since its class has private members. */
const registered = (instance: ICommandHandler): Registered =>
  ({
    instance,
    metatype: instance.constructor,
    isDependencyTreeStatic: () => true,
  }) as unknown as Registered;
