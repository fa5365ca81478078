import type { Pool } from 'pg';
import type { CurrentOperators } from '../../config/operators.js';
import type { Scope, ScopeOfMode } from '../../domain/scope.js';
import { ledgerOf } from '../../domain/tenant/test-clock.js';
import type { PaymentProvider } from '../../payments/payment-provider.js';
import type { Core } from '../../stores/core.js';
import { isAlias } from '../../tenants/tenant-directory.js';
import type { EndpointGuard } from '../../webhooks/sending/endpoint-guard.js';
import type { Staff, StaffMeta } from '../audit.js';
import type { KeyedBy } from '../operator-keys.js';
import { tenantNotFound } from '../outcome.js';

/** What operations on payments need apart from the stores. */
export interface PaymentWorld {
  /** Loaded when it is first needed. */
  readonly provider: () => Promise<PaymentProvider>;
  /** Of outgoing requests. */
  readonly guard: () => Promise<EndpointGuard>;
  readonly publicUrl: () => string;
}

/** What an operation works with, whichever channel it is called in. */
export interface OperationContext {
  readonly core: Core;
  /** Connections for work on read models: without a statement timeout. */
  readonly operationsPool: () => Pool;
  readonly payments: PaymentWorld;
  /** The operator. */
  readonly by: Staff;
  /** Aborted by Ctrl-C, by an operator who stops the run, and when the process stops. */
  readonly signal: AbortSignal;
  readonly onProgress: (phase: string, done: number, total?: number) => void;
  /** Called between pieces of long work: requests come first. */
  readonly pauseForRequests: () => Promise<void>;
  /** A line for people, apart from the document: standard error, nothing over HTTP. */
  readonly note: (line: string) => void;
  /** A line about finished work that could not be recorded: standard error, the log. */
  readonly warn: (line: string) => void;
  /** Called when the effect is that of an earlier call. */
  readonly onReplayed: () => void;
  /** The idempotency key; undefined: none was given. */
  readonly keyed?: KeyedBy | undefined;
  /** Those who may approve a correction; undefined: the command line trusts its caller. */
  readonly operators?: CurrentOperators | undefined;
  /** Writes a piece of a stream to standard output. */
  readonly write: (piece: string | Uint8Array) => Promise<void>;
}

/** Of a tenant and mode; the tenant exists. */
export interface ScopedContext extends OperationContext {
  readonly scope: Scope;
}

/** Of an operation that an audit event records. */
export interface RecordingContext extends ScopedContext {
  /** Of the operation's command. */
  readonly meta: StaffMeta;
}

/** What an operation without stores works with. */
export type MachineContext = Pick<OperationContext, 'by' | 'signal' | 'onProgress' | 'note'>;

/** The ledger of a request. @throws {NotDone} */
export async function scopeOf(
  { tenants }: Pick<Core, 'tenants'>,
  request: unknown,
): Promise<Scope> {
  const { tenant: alias, mode: ofMode = 'live' } = request as Pick<ScopeOfMode, 'tenant'> &
    Partial<ScopeOfMode>;
  const found = isAlias(alias) ? await tenants.find(alias) : undefined;
  if (found === undefined) throw tenantNotFound(alias);
  return ledgerOf(found, ofMode);
}

/** The tenant and mode of a run, as its request names them; undefined: of no single one. */
export function scopeIn(request: unknown): ScopeOfMode | undefined {
  const { tenant: alias, mode: ofMode } = request as Partial<ScopeOfMode>;
  return alias === undefined || ofMode === undefined ? undefined : { tenant: alias, mode: ofMode };
}
