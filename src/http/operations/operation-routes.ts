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
import { scopeIn } from '../../operations/registry/context.js';
import { brokenRule, membersIn, type Operation } from '../../operations/registry/operation.js';
import type { OperationRoute } from '../../operations/registry/routes.js';
import { OperatorCall } from '../credentials/call.js';
import { Access } from '../edge/access.js';
import { badRequest } from '../edge/api-error.js';
import { showTestClock } from '../limits/admission.js';
import { Fails, KEY_HEADER } from '../shapes/openapi.js';
import { sentKey } from '../writing/keyed-request.js';
import { ApiQueries, ApiRequest, DOCUMENT, DOCUMENTS } from './described-documents.js';
import { OperationCalls } from './operation-calls.js';
import { answerWithRun } from './operator-answers.js';
import { parsed, queryReader } from './operator-request.js';
import { codesOf, done } from './refusals.js';

type Routed = Operation & { readonly route: OperationRoute };

const METHODS = { GET: Get, POST: Post, PUT: Put, DELETE: Delete } as const;

/** A controller with the routes of the registry's operations: parameters, bodies, descriptions. */
export function operationRoutes(operations: readonly Operation[]): Type {
  @Controller('operations')
  class OperationRoutes {
    constructor(readonly calls: OperationCalls) {}
  }
  Reflect.defineMetadata('design:paramtypes', [OperationCalls], OperationRoutes);
  for (const operation of operations)
    if (operation.route !== undefined) addRoute(OperationRoutes.prototype, operation as Routed);
  return OperationRoutes;
}

type Given = readonly [OperatorCall, unknown, unknown, string | undefined, ...string[]];

interface Parts {
  readonly calls: OperationCalls;
}

function addRoute(prototype: object, operation: Routed): void {
  const { route } = operation;
  const inPath = [...route.path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name);
  const shape = requestShape(operation, inPath);
  const readQuery = queryReader(shape);
  const call = function (this: Parts, ...given: readonly unknown[]): Promise<unknown> {
    const [caller, query, body, key, ...path] = given as Given;
    const inBody = hasBody(route) && route.body === undefined;
    // The client would mean test mode, but the route reads the mode from the body.
    const misplaced = Object.keys(query ?? {}).find(
      (member) => inBody && Object.hasOwn(shape.shape, member),
    );
    if (misplaced !== undefined)
      throw badRequest(`${misplaced} belongs in the body, not the query`);
    const sent = inBody ? body : readQuery(query);
    const request = {
      ...parsed(shape, sent),
      ...Object.fromEntries(inPath.map((member, place) => [member, path[place]])),
      ...(route.body !== undefined && { [route.body]: body }),
    };
    const broken = brokenRule(operation, request, (member) => member);
    if (broken !== undefined) throw badRequest(broken);
    return answer(this.calls, { caller, key }, operation, request);
  };
  const name = `${operation.name} ${route.method}`;
  const parameters = [OperatorCall(), QueryParameters(), Body(), Headers('idempotency-key')];
  for (const member of inPath) parameters.push(Param(member));
  Object.defineProperty(prototype, name, { value: call, configurable: true, writable: true });
  for (const [place, decorate] of parameters.entries()) decorate(prototype, name, place);
  const types = [Object, Object, Object, String, ...inPath.map(() => String)];
  Reflect.defineMetadata('design:paramtypes', types, prototype, name);
  const descriptor = Object.getOwnPropertyDescriptor(prototype, name);
  if (descriptor !== undefined) described(operation, shape)(prototype, name, descriptor);
}

/** Whether the document is the rows of its table. */
const isList = ({ columns, rows }: Operation): boolean =>
  columns !== undefined && rows === undefined;

const hasBody = ({ method }: OperationRoute): boolean => method === 'POST' || method === 'PUT';

/** The members of query or body that are not in the path. */
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

/** Answers with the document, or with the run if the operation takes longer. */
async function answer(
  calls: OperationCalls,
  { caller: { operator, reply }, key }: { caller: OperatorCall; key: string | undefined },
  operation: Operation,
  request: object,
): Promise<unknown> {
  const caller = {
    by: { name: operator.name, channel: 'http' as const },
    key: operation.isKeyed ? sentKey({ headers: { 'idempotency-key': key } }) : undefined,
    onReplayed: () => void reply.header('Idempotency-Replayed', 'true'),
  };
  const scope = operation.route?.method === 'GET' ? scopeIn(request) : undefined;
  const tenant = scope && (await calls.tenant(scope.tenant));
  if (tenant) showTestClock({ tenant, mode: scope.mode }, reply);
  if (!operation.isLong) return done(await calls.run(operation, request, caller));
  return answerWithRun(calls.runs, reply, await calls.start(operation, request, caller));
}
