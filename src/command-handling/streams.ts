import type { AccountEvent } from '../domain/account/account.events.js';
import { evolve as evolveAccount, initialState as initialAccount, type AccountState } from '../domain/account/account.state.js';
import {
  evolve as evolveTankCodes,
  initialState as noTankCodes,
  type TankCodeEvent,
  type TankCodesState,
} from '../domain/fuel-tank/tank-codes.decider.js';
import {
  evolve as evolveModeration,
  initialState as initialModeration,
  type ModerationEvent,
  type ModerationState,
} from '../domain/moderation/moderation.decider.js';
import {
  evolve as evolveReservation,
  initialState as initialReservation,
  type ReservationEvent,
  type ReservationState,
} from '../domain/reservation/reservation.decider.js';
import {
  evolve as evolveShareLink,
  initialState as initialShareLink,
  type ShareLinkEvent,
  type ShareLinkState,
} from '../domain/share-link/share-link.decider.js';
import {
  evolve as evolveRegister,
  initialState as initialRegister,
  type TenantRegisterEvent,
  type TenantRegisterState,
} from '../domain/tenant/tenant-register.decider.js';
import {
  evolve as evolveTenant,
  initialState as initialTenant,
  type TenantEvent,
  type TenantState,
} from '../domain/tenant/tenant.decider.js';
import type { EventCodec } from '../event-log/codec.js';
import type { EventLog } from '../event-log/event-log.js';
import { CommandHandling } from './handle-command.js';

/** The command loop, once per kind of stream. */
export interface Streams {
  readonly accounts: CommandHandling<AccountState, AccountEvent>;
  readonly reservations: CommandHandling<ReservationState, ReservationEvent>;
  readonly tenants: CommandHandling<TenantState, TenantEvent>;
  readonly tenantRegister: CommandHandling<TenantRegisterState, TenantRegisterEvent>;
  readonly moderations: CommandHandling<ModerationState, ModerationEvent>;
  readonly tankCodes: CommandHandling<TankCodesState, TankCodeEvent>;
  readonly shareLinks: CommandHandling<ShareLinkState, ShareLinkEvent>;
}

export function openStreams(log: EventLog, codec: EventCodec): Streams {
  return {
    accounts: new CommandHandling(log, codec, { initialState: initialAccount, evolve: evolveAccount }),
    reservations: new CommandHandling(log, codec, { initialState: initialReservation, evolve: evolveReservation }),
    tenants: new CommandHandling(log, codec, { initialState: initialTenant, evolve: evolveTenant }),
    tenantRegister: new CommandHandling(log, codec, { initialState: initialRegister, evolve: evolveRegister }),
    moderations: new CommandHandling(log, codec, { initialState: initialModeration, evolve: evolveModeration }),
    tankCodes: new CommandHandling(log, codec, { initialState: noTankCodes, evolve: evolveTankCodes }),
    shareLinks: new CommandHandling(log, codec, { initialState: initialShareLink, evolve: evolveShareLink }),
  };
}
