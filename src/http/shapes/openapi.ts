import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import {
  ApiExtension,
  DocumentBuilder,
  getSchemaPath,
  SwaggerModule,
  type OpenAPIObject,
} from '@nestjs/swagger';
import { themeParts } from '../../themes/theme-schema.js';
import { LOCALE } from '../../themes/theme-locale.js';
import { ACCESS_EXTENSION, type AccessKind, type AccessRule } from '../edge/access.js';
import { API_ERRORS, isApiErrorCode, type ApiErrorCode } from '../edge/api-error.js';
import { ID_PATTERN } from '../../foundation/outside-text.js';
import { ErrorResponse } from './error.response.js';

export const THEME_PARTS = '#/components/schemas/Theme/$defs';
const FAILS_EXTENSION = 'x-error-codes';

export const API_KEY_SCHEME = 'apiKey';
const TOKEN_SCHEME = 'userToken';
const BEARER_SCHEME = 'bearerToken';
export const OPERATOR_SCHEME = 'operatorKey';

/** Declares the errors of a route; errors of all routes are added automatically. */
export const Fails = (...codes: readonly ApiErrorCode[]): MethodDecorator =>
  ApiExtension(FAILS_EXTENSION, codes);

type Operation = NonNullable<OpenAPIObject['paths'][string]['get']>;
type Parameter = Extract<NonNullable<Operation['parameters']>[number], { name: string }>;
type Response = Extract<Operation['responses'][string], { description: string }>;

const METHODS = ['get', 'post', 'put', 'patch', 'delete'] as const;

const TOKEN_DESCRIPTION =
  'A JSON Web Token of one user (HS256), signed with the signing secret of the mode (recommended) or its API key. A read token names account and user, a write token carries fields of the user.';

/** Describes the interface: controllers, shapes and errors. The application must be initialised. */
export function describeInterface(
  app: NestFastifyApplication,
  { version }: { readonly version: string },
): OpenAPIObject {
  const config = new DocumentBuilder()
    .setTitle('Referral ledger')
    .setVersion(version)
    .setOpenAPIVersion('3.1.0')
    .addBasicAuth(
      {
        type: 'http',
        scheme: 'basic',
        description:
          'An API key of the tenant as the password, under any user name. The key decides between live and test mode.',
      },
      API_KEY_SCHEME,
    )
    .addApiKey(
      {
        type: 'apiKey',
        in: 'header',
        name: 'X-SaaSquatch-User-Token',
        description: TOKEN_DESCRIPTION,
      },
      TOKEN_SCHEME,
    )
    .addBearerAuth(
      { type: 'http', scheme: 'bearer', bearerFormat: 'JWT', description: TOKEN_DESCRIPTION },
      BEARER_SCHEME,
    )
    .addBasicAuth(
      {
        type: 'http',
        scheme: 'basic',
        description: 'The key of an operator as the password, under any user name.',
      },
      OPERATOR_SCHEME,
    )
    .build();
  const document = SwaggerModule.createDocument(app, config, { extraModels: [ErrorResponse] });
  Object.assign(document.components?.schemas ?? {}, {
    Theme: { allOf: [{ $ref: `${THEME_PARTS}/document` }], $defs: themeParts(THEME_PARTS) },
  });
  for (const [path, item] of Object.entries(document.paths)) {
    for (const method of METHODS) {
      const operation = item[method];
      if (operation !== undefined) complete(operation, method, path);
    }
  }
  return document;
}

/** Adds what decorators imply: path parameters, headers, errors. */
function complete(operation: Operation, method: string, path: string): void {
  const access = accessOf(operation);
  const schemes = SCHEMES[access.kind].map((name) => (name === '' ? {} : { [name]: [] }));
  if (schemes.length > 0) operation.security = schemes;
  const isOfTenant = access.kind !== 'none' && access.kind !== 'operator';
  // A method with several paths declares the parameters of all.
  const declared = (operation.parameters ?? []).filter(
    (one): one is Parameter =>
      'name' in one && (one.in !== 'path' || path.includes(`{${one.name}}`)),
  );
  const implied = [...pathParameters(path), ...(isOfTenant ? headerParameters(method) : [])];
  const known = new Set(declared.map(({ name }) => name));
  operation.parameters = [...declared, ...implied.filter(({ name }) => !known.has(name))];
  for (const parameter of operation.parameters)
    if ('name' in parameter && parameter.in === 'path')
      parameter.schema = PATH_SCHEMAS.get(parameter.name) ?? parameter.schema ?? {};

  if (isOfTenant) {
    for (const [status, response] of Object.entries(operation.responses))
      if (status.startsWith('2') && response !== undefined && 'description' in response)
        response.headers = {
          ...response.headers,
          ...(method === 'get' ? HEADERS_OF_READS : HEADERS_OF_WRITES),
        };
  }
  const codes = new Set([...ownCodes(operation), ...impliedCodes(access, method)]);
  for (const [status, response] of errorResponses(codes))
    operation.responses[status] = access.page ? asPage(response, status) : response;
  for (const extension of [ACCESS_EXTENSION, FAILS_EXTENSION])
    Reflect.deleteProperty(operation, extension);
}

/** Not found is always a page; other errors are one for browsers. */
function asPage(response: Response, status: string): Response {
  const page = { 'text/html': { schema: { type: 'string' } } } as const;
  return { ...response, content: status === '404' ? page : { ...response.content, ...page } };
}

function pathParameters(path: string): readonly Parameter[] {
  return [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => ({
    name,
    in: 'path',
    required: true,
    schema: { type: 'string' },
  }));
}

/** Other ids belong to the service: any text is an unknown one. */
const ID_SCHEMA = { type: 'string', minLength: 1, maxLength: 255, pattern: ID_PATTERN };
const PATH_SCHEMAS: ReadonlyMap<string, object> = new Map<string, object>([
  ['accountId', ID_SCHEMA],
  ['userId', ID_SCHEMA],
  ['locale', { type: 'string', pattern: `^${LOCALE}$` }],
]);

function headerParameters(method: string): readonly Parameter[] {
  return method === 'get'
    ? [
        {
          name: 'Ledger-Position-At-Least',
          in: 'header',
          required: false,
          schema: { type: 'string' },
        },
      ]
    : [{ ...KEY_HEADER, in: 'header' }];
}

/** 1 to 255 printable characters without surrounding spaces. */
export const KEY_HEADER = {
  name: 'Idempotency-Key',
  required: false,
  schema: { type: 'string', pattern: '^[!-~](?:[ -~]{0,253}[!-~])?$' },
} as const;

const HEADERS_OF_READS: Response['headers'] = {
  'Ledger-Stale': {
    description:
      'Earlier writes are not included yet: the position up to which all are; `none` before the first one.',
    schema: { type: 'string' },
  },
  'Test-Clock': {
    description: 'The time in the test mode of a tenant with a test clock, ISO 8601.',
    schema: { type: 'string', format: 'date-time' },
  },
};

const HEADERS_OF_WRITES: Response['headers'] = {
  'Ledger-Position': {
    description: 'The position of the write in the ledger; for `Ledger-Position-At-Least`.',
    schema: { type: 'string' },
  },
  'Idempotency-Replayed': {
    description: '`true` for a repeated answer.',
    schema: { type: 'string', enum: ['true'] },
  },
};

const OF_NO_TENANT: AccessRule = { kind: 'none', emptyBody: true, apiOnlyPrograms: false };

function accessOf(operation: Operation): AccessRule {
  const access: unknown = Reflect.get(operation, ACCESS_EXTENSION);
  return isAccessRule(access) ? access : OF_NO_TENANT;
}

const isAccessRule = (value: unknown): value is AccessRule =>
  typeof value === 'object' && value !== null && 'kind' in value && 'emptyBody' in value;

function ownCodes(operation: Operation): readonly ApiErrorCode[] {
  const codes: unknown = Reflect.get(operation, FAILS_EXTENSION);
  return Array.isArray(codes)
    ? codes.filter((code): code is ApiErrorCode => typeof code === 'string' && isApiErrorCode(code))
    : [];
}

/** Accepted credentials; empty: none. */
const SCHEMES: Readonly<Record<AccessKind, readonly string[]>> = {
  none: [],
  operator: [OPERATOR_SCHEME],
  console: [],
  tenant: [],
  key: [API_KEY_SCHEME],
  'key-open': [API_KEY_SCHEME],
  'user-open': [API_KEY_SCHEME, TOKEN_SCHEME, BEARER_SCHEME],
  'visitor-open': [API_KEY_SCHEME, TOKEN_SCHEME, BEARER_SCHEME],
  'public-open': ['', API_KEY_SCHEME, TOKEN_SCHEME, BEARER_SCHEME],
};

const OF_OPEN_ENDPOINTS: readonly ApiErrorCode[] = [
  'TENANT_NOT_FOUND',
  'UNAUTHORIZED',
  'OPEN_ENDPOINTS_DISABLED',
  'FORBIDDEN',
  'RATE_LIMITED',
];

const CREDENTIALS: Readonly<Record<AccessKind, readonly ApiErrorCode[]>> = {
  none: [],
  operator: ['UNAUTHORIZED', 'FORBIDDEN', 'RATE_LIMITED'],
  // Pages for people, which are not described.
  console: [],
  // All routes of a suspended tenant answer FORBIDDEN.
  tenant: ['TENANT_NOT_FOUND', 'FORBIDDEN', 'RATE_LIMITED'],
  key: ['TENANT_NOT_FOUND', 'UNAUTHORIZED', 'FORBIDDEN', 'RATE_LIMITED'],
  'key-open': OF_OPEN_ENDPOINTS,
  'user-open': OF_OPEN_ENDPOINTS,
  'visitor-open': OF_OPEN_ENDPOINTS,
  'public-open': OF_OPEN_ENDPOINTS,
};

function impliedCodes(access: AccessRule, method: string): readonly ApiErrorCode[] {
  if (access.kind === 'none') return ['BAD_REQUEST'];
  if (access.kind === 'operator') {
    const ofBody =
      method === 'get' ? [] : (['UNSUPPORTED_MEDIA_TYPE', 'PAYLOAD_TOO_LARGE'] as const);
    return ['BAD_REQUEST', ...CREDENTIALS.operator, ...ofBody, 'INTERNAL', 'UNAVAILABLE'];
  }
  return [
    'BAD_REQUEST',
    ...CREDENTIALS[access.kind],
    ...(access.apiOnlyPrograms ? (['API_REQUEST_NOT_SUPPORTED'] as const) : []),
    // Even if the body must be empty, it may be too large or invalid.
    ...(method === 'get'
      ? (['POSITION_INVALID', 'POSITION_NOT_REACHED'] as const)
      : ([
          'REQUEST_IN_PROGRESS',
          'IDEMPOTENCY_KEY_REUSED',
          'UNSUPPORTED_MEDIA_TYPE',
          'PAYLOAD_TOO_LARGE',
        ] as const)),
    'INTERNAL',
    'UNAVAILABLE',
  ];
}

const HEADERS_OF_STATUS: Readonly<Record<number, Response['headers']>> = {
  401: { 'WWW-Authenticate': { schema: { type: 'string' } } },
  429: {
    'Retry-After': { description: 'Seconds', schema: { type: 'integer' } },
    'RateLimit-Policy': {
      description: 'Calls of the window and its seconds: `"code";q=100;w=3600`',
      schema: { type: 'string' },
    },
    RateLimit: {
      description: 'Calls left and seconds until the next window: `"code";r=0;t=1800`',
      schema: { type: 'string' },
    },
  },
  503: { 'Retry-After': { description: 'Seconds', schema: { type: 'integer' } } },
};

function errorResponses(
  codes: ReadonlySet<ApiErrorCode>,
): readonly (readonly [string, Response])[] {
  const statuses = [...new Set([...codes].map((code) => API_ERRORS[code].status))].sort(
    (a, b) => a - b,
  );
  return statuses.map((status) => {
    const controllerError = [...codes].filter((code) => API_ERRORS[code].status === status).sort();
    const headers = HEADERS_OF_STATUS[status];
    return [
      String(status),
      {
        description: controllerError
          .map((code) => `\`${code}\`: ${API_ERRORS[code].message}`)
          .join('\n\n'),
        ...(headers === undefined ? {} : { headers }),
        content: {
          'application/json': {
            schema: {
              allOf: [
                { $ref: getSchemaPath(ErrorResponse) },
                {
                  type: 'object',
                  properties: { apiErrorCode: { type: 'string', enum: controllerError } },
                },
              ],
            },
          },
        },
      },
    ];
  });
}
