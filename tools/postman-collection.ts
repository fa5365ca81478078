import type { OpenAPIObject } from '@nestjs/swagger';

/**
 * The collection of requests for Postman (format 2.1), made from the API description: a folder for
 * each tag, a request for each operation, with the values of its example.
 */

type Operation = NonNullable<OpenAPIObject['paths'][string]['get']>;
interface Parameter {
  readonly name: string;
  readonly in: string;
  readonly required?: boolean;
  readonly example?: unknown;
}

const METHODS = ['get', 'post', 'put', 'patch', 'delete'] as const;

const VARIABLES = {
  baseUrl: 'http://127.0.0.1:3000',
  tenant: 'demo',
  apiKey: 'test_…',
  operatorKey: 'operator_…',
};

/** Basic, with the key as the password. */
const basic = (variable: 'apiKey' | 'operatorKey') => ({
  type: 'basic',
  basic: [
    { key: 'username', value: '', type: 'string' },
    { key: 'password', value: `{{${variable}}}`, type: 'string' },
  ],
});

export function postmanCollection({ info, paths, tags = [] }: OpenAPIObject) {
  const operations = Object.entries(paths).flatMap(([path, item]) =>
    METHODS.flatMap((method) => {
      const operation = item[method];
      return operation === undefined ? [] : [{ path, method, operation }];
    }),
  );
  return {
    info: {
      name: info.title,
      description: 'Set the variables of the collection: baseUrl, tenant, apiKey, operatorKey.',
      schema: 'https://schema.getpostman.com/json/collection/v2.1.0/collection.json',
    },
    auth: basic('apiKey'),
    variable: Object.entries(VARIABLES).map(([key, value]) => ({ key, value })),
    item: tags.map(({ name }) => ({
      name,
      item: operations
        .filter(({ operation }) => operation.tags?.includes(name))
        .map(({ path, method, operation }) => requestOf(path, method, operation)),
    })),
  };
}

function requestOf(path: string, method: string, operation: Operation) {
  const parameters = (operation.parameters ?? []) as readonly Parameter[];
  const body = exampleOf(operation);
  const names = operation.security?.flatMap((scheme) => Object.keys(scheme)) ?? [];
  return {
    name: operation.summary ?? operation.operationId,
    request: {
      method: method.toUpperCase(),
      ...(names.length === 0 && { auth: { type: 'noauth' } }),
      ...(names.includes('operatorKey') && { auth: basic('operatorKey') }),
      header: body === undefined ? [] : [{ key: 'Content-Type', value: 'application/json' }],
      url: urlOf(path, parameters),
      ...(body !== undefined && {
        body: {
          mode: 'raw',
          raw: JSON.stringify(body, null, 2),
          options: { raw: { language: 'json' } },
        },
      }),
    },
  };
}

function urlOf(path: string, parameters: readonly Parameter[]) {
  const isTenant = (name: string): boolean => name === 'tenantAlias' || name === 'tenant';
  const parts = path
    .slice(1)
    .split('/')
    .map((part) => {
      const [, name] = /^\{(\w+)\}$/.exec(part) ?? [];
      return name === undefined ? part : isTenant(name) ? '{{tenant}}' : `:${name}`;
    });
  const valueOf = ({ example = '' }: Parameter): string =>
    typeof example === 'string' ? example : JSON.stringify(example);
  const query = parameters
    .filter((parameter) => parameter.in === 'query')
    .map((parameter) => ({
      key: parameter.name,
      value: valueOf(parameter),
      ...(parameter.example === undefined && !parameter.required && { disabled: true }),
    }));
  const variable = parameters
    .filter((parameter) => parameter.in === 'path' && !isTenant(parameter.name))
    .map((parameter) => ({ key: parameter.name, value: valueOf(parameter) }));
  const sent = query.filter((one) => !('disabled' in one));
  const search = sent.map(({ key, value }) => `${key}=${encodeURIComponent(value)}`).join('&');
  return {
    raw: `{{baseUrl}}/${parts.join('/')}${search === '' ? '' : `?${search}`}`,
    host: ['{{baseUrl}}'],
    path: parts,
    ...(query.length > 0 && { query }),
    ...(variable.length > 0 && { variable }),
  };
}

/** The example of a body in JSON; undefined: it has none. */
function exampleOf({ requestBody }: Operation): unknown {
  if (requestBody === undefined || !('content' in requestBody)) return undefined;
  return requestBody.content['application/json']?.example;
}
