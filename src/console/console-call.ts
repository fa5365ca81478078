import {
  applyDecorators,
  Controller,
  createParamDecorator,
  type ExecutionContext,
  Get,
  HttpCode,
  Post,
} from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import type { Operator, OperatorRole } from '../config/operators.js';
import type { Scope, ScopeOfMode } from '../domain/scope.js';
import type { Money } from '../operations/registry/operation.js';
import { Access } from '../http/edge/access.js';
import { departureSignal } from '../http/credentials/call.js';
import type { Staff } from '../operations/audit.js';
import { csvFile } from '../exports/files/csv-lines.js';
import type { SheetRows } from '../exports/files/sheet-rows.js';
import { attachmentNamed } from '../http/exports/file-name.js';
import type { ConsoleSession } from './sessions/console-gate.js';
import type { Form } from './sessions/form.js';
import { NO_FAULTS } from './view/faults.js';
import { consoleErrorSent } from './view/error-page.js';
import {
  DONE,
  doneNote,
  isDoneKey,
  page,
  type DoneKey,
  type DoneNote,
  type Frame,
} from './view/layout.js';
import { pageName, scopeWithin, tenantPath } from './view/navigation.js';
import { PAGE_HEADERS } from './view/page-headers.js';
import type { Template } from './view/templates.js';

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

const doneMark = ({ csrf }: ConsoleSession, done: string): string =>
  createHash('sha256').update(`done ${csrf} ${done}`).digest('base64url').slice(0, 12);

/** A route of the console for these roles. */
export const ForRoles = (...roles: readonly OperatorRole[]): MethodDecorator =>
  applyDecorators(Access('console', { page: consoleErrorSent, roles, rawBody: true }));

/** A page of the console for these roles. */
export const PageFor = (...roles: readonly OperatorRole[]): MethodDecorator =>
  applyDecorators(Get(), ForRoles(...roles));

/** The form of a page for these roles. */
export const FormFor = (...roles: readonly OperatorRole[]): MethodDecorator =>
  applyDecorators(Post(), HttpCode(200), ForRoles(...roles));

/** Pages of a tenant below this path, with a `TenantCall`. */
export const TenantPage = (...path: readonly string[]): ClassDecorator =>
  applyDecorators(
    ApiExcludeController(),
    Controller(['console/tenants/:tenant/:mode', ...path].join('/')),
  );

/** A route of the console for these roles, with a file that is sent while it is read. */
export const FileForRoles = (...roles: readonly OperatorRole[]): MethodDecorator =>
  applyDecorators(
    Access('console', { page: consoleErrorSent, roles, rawBody: true, streams: true }),
  );

/** A page of the console for these roles, or a file of it. */
export const FilePageFor = (...roles: readonly OperatorRole[]): MethodDecorator =>
  applyDecorators(Get(), FileForRoles(...roles));

/** Prepares the answer with a file. @returns its body. */
export function sendFile<B>(
  { reply }: Pick<ConsoleCall, 'reply'>,
  { name, type }: { readonly name: string; readonly type: string },
  content: B,
): B {
  void reply.headers({
    'Content-Type': type,
    'Content-Disposition': attachmentNamed(name),
    'Cache-Control': 'no-store',
  });
  return content;
}

/** Prepares the answer with the CSV of a table. @param name of the file, without its ending. */
export const sendCsv = (
  call: Pick<ConsoleCall, 'reply'>,
  name: string,
  sheet: Pick<SheetRows, 'headers' | 'rows'>,
): Readable =>
  sendFile(
    call,
    { name: `${name}.csv`, type: 'text/csv; charset=utf-8' },
    Readable.from(csvFile(sheet)),
  );

/** Of a page of the sidebar: with its title. `of: 'corrections'`. */
type PageFrame = Omit<Frame, 'session' | 'scope' | 'title'> &
  ({ readonly title: string } | { readonly of: string });

const framed = (frame: PageFrame) =>
  'of' in frame ? { title: pageName(`/${frame.of}`), section: `/${frame.of}`, ...frame } : frame;

/**
 * Prepares the answer with a page, 400 where its form was refused.
 * @param values what the template names, but for the token of `{{> csrf}}` and what fields mark.
 * @returns its body.
 */
export function sendPage(
  call: Pick<TenantCall, 'session' | 'reply' | 'done' | 'money' | 'testClock'> & {
    readonly scope?: Scope;
    readonly within?: string;
  },
  frame: PageFrame,
  content: Template,
  values: object,
): string {
  const { session, reply, money } = call;
  const { problems, wrong } = frame.faults ?? NO_FAULTS;
  if (problems.length > 0) void reply.code(400);
  void reply.headers(PAGE_HEADERS);
  const inForms = { wrong, money, csrf: session.csrf, within: call.within ?? '' };
  return page({ ...framed(frame), ...call }, content({ ...values, ...inForms }));
}

/**
 * After a form: the browser fetches another page, which a reload does not send again.
 * @param done what that page says was done. @param count for a text with a number.
 */
export function redirected(
  { reply, session }: Pick<ConsoleCall, 'reply'> & Partial<Pick<ConsoleCall, 'session'>>,
  path: string,
  done?: DoneKey,
  count = 0,
): string {
  const counted = `${done}.${count}`;
  const said = session && done && `${DONE}=${counted}.${doneMark(session, counted)}`;
  const location = said ? `${path}${path.includes('?') ? '&' : '?'}${said}` : path;
  void reply.code(303).header('Location', location);
  return '';
}
