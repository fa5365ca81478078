import {
  applyDecorators,
  Body,
  Controller,
  Delete,
  Get,
  Headers,
  HttpCode,
  Param,
  Post,
  Put,
  Query as QueryParameters,
  type Type,
} from '@nestjs/common';
import { ApiAcceptedResponse, ApiCreatedResponse, ApiHeader, ApiOkResponse } from '@nestjs/swagger';
import * as z from 'zod';
import type { Scope } from '../../domain/scope.js';
import {
  brokenRule,
  membersIn,
  scopeOf,
  shownParameters,
  type Operation,
  type OperationRoute,
} from '../../operations/registry/operation.js';
import { OperatorCall } from '../credentials/call.js';
import { Access } from '../edge/access.js';
import { badRequest } from '../edge/api-error.js';
import { Fails, KEY_HEADER } from '../shapes/openapi.js';
import { ApiQueries, ApiRequest, DOCUMENT, DOCUMENTS } from './described-documents.js';
import { idempotencyKeyOf } from './idempotency-header.js';
import { OperatedPayments } from './operated-payments.js';
import { OperationRuns, type RunContext } from './operation-runs.js';
import { OperationsCore } from './operations-core.js';
import { answerWithRun } from './operator-answers.js';
import { parsed, queryTexts } from './operator-request.js';
import { codesOf, done } from './refusals.js';

type Routed = Operation & { readonly route: OperationRoute };

const METHODS = { GET: Get, POST: Post, PUT: Put, DELETE: Delete } as const;

/**
 * The routes of the operations that have one, as a controller: each takes its path parameters, its
 * query or body and its description from the registry.
 */
export function operationRoutes(operations: readonly Operation[]): Type {
  @Controller('operations')
  class OperationRoutes {
    constructor(
      readonly operations: OperationsCore,
      readonly runs: OperationRuns,
      readonly payments: OperatedPayments,
    ) {}
  }
  Reflect.defineMetadata(
    'design:paramtypes',
    [OperationsCore, OperationRuns, OperatedPayments],
    OperationRoutes,
  );
  for (const operation of operations)
    if (operation.route !== undefined) addRoute(OperationRoutes.prototype, operation as Routed);
  return OperationRoutes;
}

/** The call, its query, body and idempotency key, and the values of the path. */
type Given = readonly [OperatorCall, unknown, unknown, string | undefined, ...string[]];

interface Parts {
  readonly operations: OperationsCore;
  readonly runs: OperationRuns;
  readonly payments: OperatedPayments;
}

function addRoute(prototype: object, operation: Routed): void {
  const { route } = operation;
  const inPath = [...route.path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name);
  const shape = requestShape(operation, inPath);
  const call = function (this: Parts, ...given: readonly unknown[]): Promise<unknown> {
    const [caller, query, body, key, ...path] = given as Given;
    const sent = hasBody(route) && route.body === undefined ? body : queryTexts(shape, query);
    const request = {
      ...parsed(shape, sent),
      ...Object.fromEntries(inPath.map((member, place) => [member, path[place]])),
      ...(route.body !== undefined && { [route.body]: body }),
    };
    const broken = brokenRule(operation, request, (member) => member);
    if (broken !== undefined) throw badRequest(broken);
    return answer(this, { caller, key }, operation, request);
  };
  const name = operation.name.replaceAll(/\W(\w)/g, (_, letter: string) => letter.toUpperCase());
  const parameters = [OperatorCall(), QueryParameters(), Body(), Headers('idempotency-key')];
  for (const member of inPath) parameters.push(Param(member));
  Object.defineProperty(prototype, name, { value: call, configurable: true, writable: true });
  for (const [place, decorate] of parameters.entries()) decorate(prototype, name, place);
  const types = [Object, Object, Object, String, ...inPath.map(() => String)];
  Reflect.defineMetadata('design:paramtypes', types, prototype, name);
  const descriptor = Object.getOwnPropertyDescriptor(prototype, name);
  if (descriptor !== undefined) described(operation, shape)(prototype, name, descriptor);
}

/** The document is the rows of its table. */
const isList = ({ columns, rows }: Operation): boolean =>
  columns !== undefined && rows === undefined;

const hasBody = ({ method }: OperationRoute): boolean => method === 'POST' || method === 'PUT';

/** What the query or the body holds: the members that are not in the path. */
function requestShape({ route, ...operation }: Routed, inPath: readonly string[]): z.ZodObject {
  const members = Object.entries(membersIn(operation, 'http')).filter(
    ([name]) => !inPath.includes(name) && name !== route.body,
  );
  const shape = Object.fromEntries(
    members.map(([name, member]) => [
      name,
      route.required?.includes(name) && member instanceof z.ZodOptional ? member.unwrap() : member,
    ]),
  );
  const rules = operation.rules.map(({ schema }) => schema);
  const schema = Object.assign({}, ...rules) as Record<string, unknown>;
  return z.strictObject(shape as Record<string, z.ZodType>).meta(schema);
}

function described(operation: Routed, shape: z.ZodObject): MethodDecorator {
  const { route, roles, isLong, isKeyed } = operation;
  const isEmpty = Object.keys(shape.shape).length === 0;
  const schema = route.schema ?? (isList(operation) ? DOCUMENTS : DOCUMENT);
  const inQuery = !hasBody(route) || route.body !== undefined;
  const whole = membersIn(operation, 'http')[route.body ?? ''];
  const emptyBody = isEmpty && route.body === undefined;
  return applyDecorators(
    METHODS[route.method](route.path.replaceAll(/\{(\w+)\}/g, ':$1')),
    ...(isLong ? [ApiAcceptedResponse({ schema: DOCUMENT })] : []),
    ...(isEmpty ? [] : [inQuery ? ApiQueries(shape) : ApiRequest(shape)]),
    ...(whole === undefined ? [] : [ApiRequest(whole, true)]),
    route.status === 201 ? ApiCreatedResponse({ schema }) : ApiOkResponse({ schema }),
    HttpCode(route.status ?? 200),
    Access('operator', { roles, emptyBody }),
    Fails(...codesOf(operation)),
    ...(isKeyed ? [ApiHeader(KEY_HEADER)] : []),
  );
}

/** Answers with the document or, when a long operation takes longer, with its run. */
async function answer(
  { operations, runs, payments }: Parts,
  { caller: { operator, reply }, key }: { caller: OperatorCall; key: string | undefined },
  operation: Operation,
  request: object,
): Promise<unknown> {
  const { core, pool, warn, answers } = operations;
  const keyed = operation.isKeyed ? idempotencyKeyOf(key) : undefined;
  const by = operator.name;
  const context = {
    core,
    operationsPool: () => pool,
    payments,
    by,
    channel: 'http' as const,
    operators: operations.operators,
    note: () => undefined,
    warn,
    write: () => Promise.resolve(),
    keyed:
      keyed === undefined
        ? undefined
        : { key: keyed, answers, onReplayed: () => reply.header('Idempotency-Replayed', 'true') },
  };
  if (!operation.isLong) return done(await operation.run({ ...context, ...ATTENDED }, request));
  const { name, of } = operation;
  if (of === 'ledger') done(await scopeOf(core, request));
  const { tenant, mode } = request as Partial<Scope>;
  const scope = tenant !== undefined && mode !== undefined && { scope: { tenant, mode } };
  const asked = { operation: name, by, parameters: shownParameters(operation, request), ...scope };
  const run = await runs.start(asked, (running: RunContext) =>
    operation.run({ ...context, ...running }, request),
  );
  return answerWithRun(runs, reply, run);
}

/** Of work that its caller waits for. */
const ATTENDED = {
  signal: new AbortController().signal,
  onProgress: () => undefined,
  giveWay: () => Promise.resolve(),
};
