import type { Content, Operation } from './openapi-operation.js';
import type { JsonSchema } from './json-schema.js';
import type { HttpExample, OperationText } from './reference-texts.js';

/** Adds examples to an operation's parameters, body and answer. */
export function addExamples(
  operation: Operation,
  { route, request, response }: OperationText,
): readonly string[] {
  if (request === undefined) return ['has no example of a request'];
  if (response === undefined) return ['has no example of a response'];
  const parameters = exampleParameters(route, request);
  if (parameters === undefined) return [`the example "${request.start}" is of another route`];
  for (const parameter of operation.parameters ?? []) {
    const value = parameters.get(parameter.name);
    if (value !== undefined) parameter.example = typed(value, parameter.schema?.type);
  }
  const known = new Set(operation.parameters?.map(({ name }) => name));
  const status = /^HTTP\/1\.1 (\d{3})$/.exec(response.start)?.[1] ?? '';
  const answer = operation.responses[status];
  return [
    ...[...parameters.keys()]
      .filter((name) => !known.has(name) && name !== 'Content-Type' && name !== 'Authorization')
      .map((name) => `the example names the parameter ${name}, which does not exist`),
    ...addBody(operation.requestBody?.content, request, 'request'),
    ...(answer === undefined
      ? [`the example "${response.start}" is none of its answers`]
      : addBody(answer.content, response, 'response')),
  ];
}

/** Converts a text of a path, a query or a header. */
function typed(value: string, type: JsonSchema['type']): unknown {
  if (type === 'integer' || type === 'number') return Number(value);
  return type === 'boolean' ? value === 'true' : value;
}

function addBody(
  content: Content | undefined,
  { body, headers }: HttpExample,
  what: string,
): readonly string[] {
  if (body === '') return [];
  const type = headers.get('Content-Type') ?? Object.keys(content ?? {})[0] ?? '';
  const described = content?.[type];
  if (described === undefined)
    return [`the example of the ${what} has a body, and none is described`];
  try {
    described.example = type.endsWith('json') ? (JSON.parse(body) as unknown) : body;
    return [];
  } catch {
    return [`the example of the ${what} is not valid JSON`];
  }
}

/** Values of path, query and headers by name; undefined: another route. */
export function exampleParameters(
  route: string,
  { start, headers }: HttpExample,
): ReadonlyMap<string, string> | undefined {
  const names = [...route.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name);
  const pattern = route.replace(/[.*+?^$()|[\]\\]/g, '\\$&').replace(/\{\w+\}/g, '([^/?]+)');
  const [path = '', query = ''] = start.split('?');
  const values = new RegExp(`^${pattern}$`).exec(path)?.slice(1);
  if (values === undefined) return undefined;
  return new Map([
    ...names.map((name, index) => [name, decodeURIComponent(values[index] ?? '')] as const),
    ...new URLSearchParams(query),
    ...headers,
  ]);
}
