import type { AccountEvent } from './account/account.events.js';
import type { AuditEvent } from './audit/audit.decider.js';
import type { CustomerEvent } from './customer/customer.state.js';
import type { ExportEvent } from './export/export.decider.js';
import type { TankCodeEvent } from './fuel-tank/tank-codes.decider.js';
import type { ImportedRowEvent } from './imported-row/imported-row.decider.js';
import type { ModerationEvent } from './moderation/moderation.decider.js';
import type { OperationEvent } from './operation/operation.decider.js';
import type { PeriodEvent } from './period/period.decider.js';
import type { ProposalEvent } from './proposal/proposal.decider.js';
import type { ReservationEvent } from './reservation/reservation.decider.js';
import type { ShareLinkEvent } from './share-link/share-link.decider.js';
import type { ThemeEvent } from './theme/theme.decider.js';
import type { TenantRegisterEvent } from './tenant/tenant-register.decider.js';
import type { TenantEvent } from './tenant/tenant.decider.js';

export type DomainEvent =
  | AccountEvent
  | ReservationEvent
  | TenantEvent
  | TenantRegisterEvent
  | ModerationEvent
  | AuditEvent
  | TankCodeEvent
  | ShareLinkEvent
  | PeriodEvent
  | OperationEvent
  | ExportEvent
  | ProposalEvent
  | ThemeEvent
  | CustomerEvent
  | ImportedRowEvent;
