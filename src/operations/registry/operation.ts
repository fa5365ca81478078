import type { Pool } from 'pg';
import type * as z from 'zod';
import type { CurrentOperators, OperatorRole } from '../../config/operators.js';
import type { Refusal } from '../../domain/refusal.js';
import type { Scope, ScopeOfMode } from '../../domain/scope.js';
import { ledgerOf } from '../../domain/tenant/test-clock.js';
import type { PaymentProvider } from '../../payments/payment-provider.js';
import type { Core } from '../../stores/core.js';
import { isAlias } from '../../tenants/tenant-directory.js';
import type { EndpointGuard } from '../../webhooks/sending/endpoint-guard.js';
import type { Staff, StaffMeta } from '../audit.js';
import { auditedOn, type Done } from '../audited.js';
import type { KeyedBy } from '../operator-keys.js';
import { channels, mode, tenant } from './members.js';
import {
  type OperationRefusalCode,
  type Outcome,
  outcomeOf,
  tenantNotFound,
  type WordFor,
} from '../outcome.js';

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

/**
 * A column of a table for people: the member of a row that is also its title; or its title, the
 * member or a function of the row, and whether it is right-aligned with its thousands apart.
 */
export type ShownColumn<Row> =
  | (keyof Row & string)
  | readonly [title: string, cell: (keyof Row & string) | ((row: Row) => unknown), kind?: 'amount'];

/** How people see amounts in a unit, of an account or of all; undefined: as numbers. */
export type Money = (
  unit: string,
  account?: string,
) => ((amount: number | bigint) => string) | undefined;

/** Writes for people on the command line. */
export interface Printer {
  readonly line: (text: string) => void;
  /** @param of whose the amounts are; default: each row has its unit and account. */
  readonly table: <Row>(
    columns: readonly ShownColumn<Row>[],
    rows: readonly Row[],
    of?: { readonly unit: string; readonly account?: string },
  ) => void;
  /** Standard error. */
  readonly note: (text: string) => void;
}

/** A line for each member of a document: `name: value`. */
export function printFacts(document: object, { line }: Printer): void {
  for (const [name, value] of Object.entries(document) as readonly [string, unknown][]) {
    line(`${name}: ${textOf(value)}`);
  }
}

/** A value in a cell or a line. */
export const textOf = (value: unknown): string =>
  typeof value === 'string' ? value : value === null ? '' : (JSON.stringify(value) ?? '');

/** A document that is a finding: the line for people, and the exit code of the command line. */
export interface Ending {
  readonly exitCode: 1 | 2 | 3;
  readonly line: string;
}

export interface OperationRoute {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** Below `/operations/`; members in braces: `ledger/{tenant}/statement`. */
  readonly path: string;
  readonly status?: 201;
  /** Members that only HTTP requires. */
  readonly required?: readonly string[];
  /** Refusals with an error code of their own, in the order of the API reference. */
  readonly refusals?: readonly (OperationRefusalCode | Refusal | 'FORBIDDEN')[];
  /** The schema of the answer, where it is more than a document. */
  readonly schema?: object;
  /** The member that the body is as a whole. */
  readonly body?: string;
}

/** @param refusals see `OperationRoute`. */
const routeBy =
  (method: OperationRoute['method']) =>
  (path: string, ...refusals: NonNullable<OperationRoute['refusals']>): OperationRoute => ({
    method,
    path,
    refusals,
  });
export const get = routeBy('GET');
export const post = routeBy('POST');
export const put = routeBy('PUT');
export const remove = routeBy('DELETE');

/** A rule between members of a request. */
export interface RequestRule<Request> {
  /**
   * The line about a request that breaks it; `{member}` becomes the channel's name of it.
   * Undefined: the operation refuses such a request.
   */
  readonly check?: (request: Request) => string | undefined;
  /** The same as JSON Schema. Undefined: no route can break it. */
  readonly schema?: object;
}

/** In definitions `run` stands before the functions that take its document: it gives the type. */
type Shape = z.core.$ZodLooseShape;
type RequestOf<S extends Shape> = z.output<z.ZodObject<S>>;

interface Definition<S extends Shape, Document, Row> {
  /** Group and command: `ledger statement`. Also the name in audit entries. */
  readonly name: `${string} ${string}`;
  /** For the help, without a full stop. */
  readonly summary: string;
  /** Default: none but the tenant and the mode. */
  readonly members?: S;
  /** Members that are given by position on the command line, after the tenant. */
  readonly positions?: readonly (keyof S & string)[];
  readonly rules?: readonly RequestRule<RequestOf<S>>[];
  /** The roles that may call it over HTTP and in the console; default: none. */
  readonly roles?: readonly OperatorRole[];
  /** It may take longer than a request: a run, with progress, that can be stopped. */
  readonly isLong?: boolean;
  /** What a run shows of its request; default: all members but files. */
  readonly parameters?: (request: RequestOf<S>) => object;
  /** It takes an idempotency key. */
  readonly isKeyed?: boolean;
  readonly route?: OperationRoute;
  /** Without the name of the program. */
  readonly examples: readonly string[];
  readonly columns?: readonly ShownColumn<NoInfer<Row>>[];
  /** The rows of the table; default: the document itself. */
  readonly rows?: (document: Document) => readonly Row[];
  /** In place of an empty table. */
  readonly empty?: string;
  /** Default: amounts are numbers. */
  readonly money?: (context: OperationContext, scope: Scope, document: Document) => Promise<Money>;
  /** One line about what was done; not with an ending. */
  readonly said?: (document: Document, request: RequestOf<S>) => string;
  /** Writes the document for people, where a table or a line is not enough. */
  readonly print?: (document: Document, printer: Printer, request: RequestOf<S>) => void;
  /** The document as a CSV file, for `--format csv` of the command line. */
  readonly csv?: (document: Document) => string;
  readonly ending?: (document: Document, request: RequestOf<S>) => Ending | undefined;
  /**
   * `stream`: it writes its answer itself, and no document follows. `lists`: people see a table for
   * each list of the document, and a line for each other member.
   */
  readonly output?: 'stream' | 'lists';
  /** A route without a command of its own: the command of this name has the same effect. */
  readonly isRouteOnly?: boolean;
  /** True for requests that no stores are opened for: it runs as an operation of this machine. */
  readonly withoutStores?: (request: RequestOf<S>) => boolean;
  /** It runs on a log that is ahead of the clock. */
  readonly acceptsClock?: boolean;
}

/** An operation of any request and document. */
export interface Operation extends Omit<
  Definition<Shape, unknown, unknown>,
  'members' | 'roles' | 'rules' | 'parameters' | 'positions'
> {
  readonly members: Shape;
  readonly roles: readonly OperatorRole[];
  readonly positions: readonly string[];
  readonly rules: readonly RequestRule<never>[];
  readonly parameters?: (request: never) => object;
  /**
   * What the request belongs to: a tenant and mode, a tenant, the whole service, or this machine,
   * whose stores are not opened.
   */
  readonly of: 'ledger' | 'tenant' | 'service' | 'machine';
  /** It leaves a record with the operator's name. */
  readonly isRecorded: boolean;
  /** The request has been checked against the members and rules. */
  readonly run: (context: OperationContext, request: unknown) => Promise<Outcome<unknown>>;
}

type Ran<Context, S extends Shape, Document> = {
  /** @throws {NotDone} */
  readonly run: (context: Context, request: RequestOf<S>) => Promise<Document>;
  readonly isRecorded?: boolean;
};
type Recorded<S extends Shape, Document> = {
  /** @returns the document and what its audit event contains. */
  readonly record: (context: RecordingContext, request: RequestOf<S>) => Promise<Done<Document>>;
};

type Tenanted<S extends Shape> = S & { tenant: typeof tenant };
type Scoped<S extends Shape> = Tenanted<S> & { mode: typeof mode };
const NO_MEMBERS = {};
type NoMembers = typeof NO_MEMBERS;
type Element<T> = T extends readonly (infer E)[] ? E : never;

/** What an operation without stores works with. */
export type MachineContext = Pick<OperationContext, 'by' | 'signal' | 'onProgress' | 'note'>;

/** An operation on files of this machine; on the command line only. */
export const machineOperation = <Document, S extends Shape = NoMembers, Row = Element<Document>>(
  definition: Definition<S, Document, Row> & Ran<MachineContext, S, Document>,
): Operation => erased('machine', definition);

/** An operation on the whole service. */
export const serviceOperation = <Document, S extends Shape = NoMembers, Row = Element<Document>>(
  definition: Definition<S, Document, Row> & Ran<OperationContext, S, Document>,
): Operation => erased('service', definition);

/** An operation on a tenant and mode. */
export const ledgerOperation = <Document, S extends Shape = NoMembers, Row = Element<Document>>(
  definition: Definition<S, Document, Row> & Ran<ScopedContext, Scoped<S>, Document>,
): Operation => erased('ledger', definition);

/** As `ledgerOperation`; an audit event in the tenant's log records it. */
export const recordedOperation = <Document, S extends Shape = NoMembers, Row = Element<Document>>(
  definition: Definition<S, Document, Row> & Recorded<Scoped<S>, Document>,
): Operation => erased('ledger', definition);

/** An operation on a tenant, in both modes; the tenant may not exist. */
export const tenantOperation = <Document, S extends Shape = NoMembers, Row = Element<Document>>(
  definition: Definition<S, Document, Row> & Ran<OperationContext, Tenanted<S>, Document>,
): Operation => erased('tenant', definition);

/** As `tenantOperation`, of an existing tenant; an audit event in its live mode records it. */
export const recordedTenantOperation = <
  Document,
  S extends Shape = NoMembers,
  Row = Element<Document>,
>(
  definition: Definition<S, Document, Row> & Recorded<Tenanted<S>, Document>,
): Operation => erased('tenant', definition);

/** Without the types of its request and document, which its own functions keep. */
function erased(of: Operation['of'], definition: object): Operation {
  const {
    members = NO_MEMBERS,
    roles = [],
    positions = [],
    rules = [],
    run,
    record,
    isRecorded = record !== undefined,
    ...own
  } = definition as Definition<Shape, unknown, unknown> &
    Ran<OperationContext, Shape, unknown> &
    Partial<Recorded<Shape, unknown>>;
  const isOfTenant = of === 'ledger' || of === 'tenant';
  return {
    ...own,
    members: {
      ...(isOfTenant ? { tenant } : {}),
      ...members,
      ...(of === 'ledger' && !('mode' in members) ? { mode } : {}),
    },
    roles,
    positions: isOfTenant ? ['tenant', ...positions] : positions,
    rules,
    of,
    isRecorded,
    run: (context, asked) =>
      outcomeOf(async () => {
        const request = asked as RequestOf<Shape>;
        if (record === undefined && of !== 'ledger') return run(context, request);
        const { core, by, warn } = context;
        const scope = await scopeOf(core, request);
        const scoped = { ...context, scope };
        if (record === undefined) return run(scoped, request);
        return auditedOn(core, { scope, by, operation: own.name, warn }, (_, meta) =>
          record({ ...scoped, meta }, request),
        );
      }),
  };
}

/** The members that a channel has. */
export const membersIn = (
  { members }: Pick<Operation, 'members'>,
  channel: 'cli' | 'http',
): Readonly<Record<string, z.ZodType>> =>
  Object.fromEntries(
    Object.entries(members).filter(([, member]) => {
      const only = channels.get(member)?.only;
      return only === undefined || only === channel;
    }),
  );

/** The text with the channel's name of each `{member}`. */
const withWords = (text: string, wordFor: WordFor): string =>
  text.replace(/\{(\w+)\}/g, (_, member: string) => wordFor(member));

/** The first rule between members that the request breaks, in the words of the channel. */
export function brokenRule(
  { rules }: Pick<Operation, 'rules'>,
  request: unknown,
  wordFor: (member: string) => string,
): string | undefined {
  for (const { check } of rules as readonly RequestRule<unknown>[]) {
    const line = check?.(request);
    if (line !== undefined) return withWords(line, wordFor);
  }
  return undefined;
}

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

/** What a run of the operation shows of its request. */
export function shownParameters(
  { members, parameters }: Pick<Operation, 'members' | 'parameters'>,
  request: unknown,
): object {
  if (parameters !== undefined) return parameters(request as never);
  const isFile = (name: string): boolean =>
    channels.get(members[name] as z.ZodType)?.file !== undefined;
  return Object.fromEntries(
    Object.entries(request as object).filter(
      ([name]) => name !== 'tenant' && name !== 'mode' && !isFile(name),
    ),
  );
}
