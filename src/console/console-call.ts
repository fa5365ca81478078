import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { createHash } from 'node:crypto';
import type { Operator } from '../config/operators.js';
import type { Scope, ScopeOfMode } from '../domain/scope.js';
import type { Money } from '../operations/registry/printing.js';
import { departureSignal } from '../http/credentials/call.js';
import type { Staff } from '../operations/audit.js';
import type { ConsoleSession } from './sessions/console-gate.js';
import type { Form } from './sessions/form.js';
import { DONE, doneNote, isDoneKey, type DoneNote } from './view/layout.js';
import { scopeWithin, tenantPath } from './view/navigation.js';

/** One request of an operator's browser. */
export interface ConsoleCall {
  readonly operator: Operator;
  readonly session: ConsoleSession;
  /** How people see the amounts of the page. */
  readonly money: Money | undefined;
  /** Of a page of test mode, ISO 8601; null: none. */
  readonly testClock: string | null;
  /** Of a POST; empty for other methods. */
  readonly form: Form;
  /** Empty for a POST. */
  readonly query: unknown;
  /** Of a page of all tenants: the one from which it was opened, `demo/live`; empty: none. */
  readonly within: string;
  readonly reply: FastifyReply;
  readonly requestId: string;
  /** What was done by the form before, as the address says. */
  readonly done: DoneNote | undefined;
  /** Aborts when the request was answered or its browser has left. */
  readonly departure: () => AbortSignal;
}

/** One request of a page of a tenant. */
export interface TenantCall extends ConsoleCall {
  readonly scope: ScopeOfMode;
  /** Where the data of the mode are. */
  readonly ledger: Scope;
  /** The path of the tenant's pages. */
  readonly tenantPath: string;
}

/** The operator of a call, as the log records it. */
export const staffOf = ({ operator: { name } }: Pick<ConsoleCall, 'operator'>): Staff => ({
  name,
  channel: 'console',
});

/** Injects the call. @throws when the route is not of the console, or open. */
export const ConsoleCall = createParamDecorator(
  (_data: unknown, context: ExecutionContext): ConsoleCall => callOf(context),
);

/** Injects the call. @throws when the route is not of a tenant. */
export const TenantCall = createParamDecorator(
  (_data: unknown, context: ExecutionContext): TenantCall => {
    const { scope, ledger } = context.switchToHttp().getRequest<FastifyRequest>().console ?? {};
    if (!scope || !ledger) throw new Error('the route has no tenant');
    return { ...callOf(context), scope, ledger, tenantPath: tenantPath(scope) };
  },
);

function callOf(context: ExecutionContext): ConsoleCall {
  const http = context.switchToHttp();
  const request = http.getRequest<FastifyRequest>();
  const reply = http.getResponse<FastifyReply>();
  const { console: entered } = request;
  const session = entered?.session;
  if (!entered || !session) throw new Error('the route has no session');
  return {
    operator: session.operator,
    session,
    money: entered.money,
    testClock: entered.testClock ?? null,
    form: entered.form,
    query: request.method === 'POST' ? {} : request.query,
    within: withinOf(request),
    reply,
    requestId: request.id,
    done: doneOf(request),
    departure: () => {
      // A streamed file has 11 listeners: the edge has four, Fastify and the stream the others.
      reply.raw.setMaxListeners(12);
      return departureSignal(reply);
    },
  };
}

function withinOf({ method, query, console: entered }: FastifyRequest): string {
  const asked: unknown = Reflect.get(Object(query), 'within');
  const text = method === 'POST' ? entered?.form.text('within') : asked;
  return typeof text === 'string' && scopeWithin(text) !== undefined ? text : '';
}

/** Only forms of this session confirm an action, because anyone can send an address. */
function doneOf({ method, query, console: entered }: FastifyRequest): DoneNote | undefined {
  const text: unknown = method === 'GET' ? Reflect.get(Object(query), DONE) : undefined;
  const [key, count = '', mark] = typeof text === 'string' ? text.split('.') : [];
  const session = entered?.session;
  const isOwn = isDoneKey(key) && session && mark === doneMark(session, `${key}.${count}`);
  return isOwn ? doneNote(key, Number(count)) : undefined;
}

/** Proves that a form of the session wrote an address with this note. */
export const doneMark = ({ csrf }: ConsoleSession, done: string): string =>
  createHash('sha256').update(`done ${csrf} ${done}`).digest('base64url').slice(0, 12);
