import { createHash, timingSafeEqual } from 'node:crypto';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Money } from '../../operations/registry/printing.js';
import type { CurrentOperators, Operator } from '../../config/operators.js';
import type { OperatorSessions } from '../../operations/sessions/operator-sessions.js';
import type { AccessRule } from '../../http/edge/access.js';
import { ApiError, badRequest } from '../../http/edge/api-error.js';
import { clientAddress, countedAddress } from '../../http/edge/client-address.js';
import type { Scope, ScopeOfMode } from '../../domain/scope.js';
import { FailedCredentials } from '../../http/limits/call-limit.js';
import { addFacts } from '../../http/edge/request-facts.js';
import { Form } from './form.js';
import type { RefusedVisits, Visitor } from './refused-visits.js';
import { endedCookie, sessionCookie, sessionTokensIn } from './session-cookie.js';

const WRONG_KEYS_PER_MINUTE = 5;
export const CSRF_FIELD = 'csrf';
const FORM_OF_OTHERS = 'The form does not belong to this session: open the page again';

/** The console's part of a request. */
export interface ConsoleRequest {
  /** Null on pages for people who are not signed in. */
  readonly session: ConsoleSession | null;
  /** The signed-in operator, even if the key is no longer valid; null: none. */
  readonly visitor: Visitor | null;
  readonly contentType: string;
  /** How people see the amounts of the page; undefined: as numbers. */
  money?: Money;
  form: Form;
  /** Of the tenant whose page it is. */
  scope?: ScopeOfMode;
  ledger?: Scope;
  /** Of a page of test mode, ISO 8601; null: the tenant has none. */
  testClock?: string | null;
}

export interface ConsoleSession {
  readonly token: string;
  readonly operator: Operator;
  /** Stands in every form of the session. */
  readonly csrf: string;
}

declare module 'fastify' {
  interface FastifyRequest {
    console: ConsoleRequest | null;
  }
}

/** The account that the query of a page names; the page of an account reads its amounts itself. */
function accountIn({ query }: FastifyRequest): string | undefined {
  const { account } = query as { readonly account?: unknown };
  return typeof account === 'string' && account !== '' ? account : undefined;
}

/** Who may enter the console: sessions, and forms that only its own pages can send. */
export class ConsoleGate {
  private readonly failures = new FailedCredentials(WRONG_KEYS_PER_MINUTE);

  constructor(
    private readonly operators: CurrentOperators,
    private readonly sessions: Pick<OperatorSessions, 'begin' | 'find' | 'end'>,
    private readonly refused: Pick<RefusedVisits, 'record' | 'scopeOf'>,
    /** Records for Activity that an operator signed in or out. */
    private readonly recordSession: (name: string, step: 'signedIn' | 'signedOut') => Promise<void>,
    private readonly moneyOf: (scope: Scope, account: string | undefined) => Promise<Money>,
  ) {}

  /**
   * Finds the session of a request, before its body is read.
   * @throws {ApiError} UNAUTHORIZED without a session, FORBIDDEN for a role too small, for a key
   * that no longer counts, and for a form that another site's page sends.
   */
  async enter(request: FastifyRequest, access: AccessRule): Promise<void> {
    const { roles = [], open = false, upload = false } = access;
    const contentType = request.headers['content-type'] ?? '';
    // The content type is removed so that one parser takes every body; uploads are marked as CSV
    // and passed on unparsed.
    if (upload) request.raw.headers['content-type'] = 'text/csv';
    else delete request.raw.headers['content-type'];
    const { session, visitor } = await this.visitOf(request);
    request.console = { session, visitor, contentType, form: Form.EMPTY };
    if (visitor !== null) addFacts(request, { actor: 'operator', actorId: visitor.name });
    if (session !== null) request.operator = session.operator;
    if (request.method !== 'GET' && request.method !== 'HEAD') refuseOtherOrigin(request);
    if (open) return;
    if (session === null && visitor !== null) {
      // The sessions stay ended, even if the key becomes valid again.
      for (const token of sessionTokensIn(request.headers.cookie)) await this.sessions.end(token);
      throw new ApiError('FORBIDDEN', {
        message: 'Your key no longer counts: sign in with another one',
        headers: { 'Set-Cookie': endedCookie(isSecure(request)) },
      });
    }
    if (session === null) throw new ApiError('UNAUTHORIZED');
    const { name, roles: own } = session.operator;
    if (!own.some((role) => roles.includes(role)))
      throw new ApiError('FORBIDDEN', {
        message: `This needs the role ${roles.join(' or ')}; ${name} has ${own.join(' and ')}.`,
      });
  }

  /**
   * Reads the form of a request, and finds the tenant of its page.
   * @throws {ApiError} TENANT_NOT_FOUND, also for another mode than live and test; FORBIDDEN
   * without the session's token (a body that is not a form has none), except on open pages;
   * BAD_REQUEST on open pages for a body that is not a form, and anywhere for text that cannot be
   * stored.
   */
  async readRequest(request: FastifyRequest, access: AccessRule): Promise<void> {
    const { console: entered, method } = request;
    if (entered === null) return;
    if (method !== 'GET' && method !== 'HEAD' && !access.upload)
      await this.readForm(request.body, entered, access);
    if (Reflect.get(Object(request.params), 'tenant') === undefined) return;
    const found = await this.refused.scopeOf(request.params);
    if (found === undefined) throw new ApiError('TENANT_NOT_FOUND');
    const { scope } = Object.assign(entered, found);
    entered.money = await this.moneyOf(scope, accountIn(request));
  }

  private async readForm(
    body: unknown,
    entered: ConsoleRequest,
    { open = false }: AccessRule,
  ): Promise<void> {
    const form = Buffer.isBuffer(body) ? await Form.parse(body, entered.contentType) : Form.EMPTY;
    if (form === undefined && open) throw badRequest('the body is not a form');
    entered.form = form ?? Form.EMPTY;
    if (!open) checkToken(entered, entered.form.text(CSRF_FIELD));
    if (form?.fault !== undefined) throw badRequest(form.fault);
  }

  /**
   * Signs in with the key of the form.
   * @returns undefined for a wrong key.
   * @throws {ApiError} RATE_LIMITED after too many wrong keys from an address.
   */
  async signIn(request: FastifyRequest, reply: FastifyReply): Promise<Operator | undefined> {
    const key = request.console?.form.text('key') ?? '';
    const holder = (await this.operators.now()).holderOf(key);
    if (holder === undefined) {
      const limited = this.failures.count(countedAddress(clientAddress(request)));
      if (limited !== undefined) throw limited;
      return undefined;
    }
    await this.recordSession(holder.operator.name, 'signedIn');
    const token = await this.sessions.begin(holder);
    addFacts(request, { actor: 'operator', actorId: holder.operator.name });
    void reply.header('Set-Cookie', sessionCookie(token, isSecure(request)));
    return holder.operator;
  }

  async signOut(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    const { token, operator } = request.console?.session ?? {};
    if (operator !== undefined) await this.recordSession(operator.name, 'signedOut');
    if (token !== undefined) await this.sessions.end(token);
    void reply.header('Set-Cookie', endedCookie(isSecure(request)));
  }

  /** Records the visit of an operator that is answered with 403. Never rejects. */
  async noteRefusal(request: FastifyRequest): Promise<void> {
    const visitor = request.console?.visitor;
    if (visitor) await this.refused.record(request, visitor);
  }

  private async visitOf({
    headers,
  }: FastifyRequest): Promise<Pick<ConsoleRequest, 'session' | 'visitor'>> {
    let visitor: Visitor | null = null;
    for (const token of sessionTokensIn(headers.cookie)) {
      const found = await this.sessions.find(token);
      if (found === undefined) continue;
      const { name, operator } = found;
      const csrf = csrfOf(token);
      visitor = { name, session: csrf };
      if (operator !== undefined) return { session: { token, operator, csrf }, visitor };
    }
    return { session: null, visitor };
  }
}

/** @throws {ApiError} FORBIDDEN for a form that was not made for the session. */
export function checkToken({ session }: Pick<ConsoleRequest, 'session'>, token: string): void {
  if (session === null || !isSame(token, session.csrf))
    throw new ApiError('FORBIDDEN', { message: FORM_OF_OTHERS });
}

/** It can be made only with the token, which no page contains. */
const csrfOf = (token: string): string =>
  createHash('sha256').update(`csrf ${token}`).digest('base64url');

function isSame(given: string, expected: string): boolean {
  const [one, other] = [Buffer.from(given), Buffer.from(expected)];
  return one.length === other.length && timingSafeEqual(one, other);
}

const isSecure = ({ protocol }: FastifyRequest): boolean => protocol === 'https';

/** A browser names the page's origin with every form. @throws {ApiError} FORBIDDEN. */
function refuseOtherOrigin({ headers, host }: FastifyRequest): void {
  const site = [headers['sec-fetch-site'] ?? []].flat().join(',').toLowerCase();
  if (/\b(?:cross|same)-site\b/.test(site)) throw new ApiError('FORBIDDEN');
  const { origin } = headers;
  if (origin === undefined) return;
  if (!URL.canParse(origin) || new URL(origin).host !== host) throw new ApiError('FORBIDDEN');
}

/** Reads the requests of the console, and records operators who are refused a page. */
export function serveConsole(server: FastifyInstance, gate: ConsoleGate): void {
  server.addHook('preHandler', (request, _reply, done) => {
    const { access } = request.routeOptions.config;
    if (access?.kind !== 'console') return done();
    gate.readRequest(request, access).then(() => done(), done);
  });
  server.addHook('onSend', (request, reply, _payload, done) => {
    const { access } = request.routeOptions.config;
    if (access?.kind !== 'console' || reply.statusCode !== 403) return done();
    gate.noteRefusal(request).then(() => done(), done);
  });
}
