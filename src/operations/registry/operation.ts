import type * as z from 'zod';
import type { OperatorRole } from '../../config/operators.js';
import type { Scope } from '../../domain/scope.js';
import { auditedOn, type Done } from '../audited.js';
import { type Outcome, outcomeOf, type WordFor } from '../outcome.js';
import {
  type MachineContext,
  type OperationContext,
  type RecordingContext,
  type ScopedContext,
  scopeOf,
} from './context.js';
import { channels, mode, tenant } from './members.js';
import type { Ending, Money, Printer, ShownColumn } from './printing.js';
import type { OperationRoute } from './routes.js';

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
