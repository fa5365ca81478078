import type { OpenAPIObject } from '@nestjs/swagger';
import { API_KEY_SCHEME, OPERATOR_SCHEME } from '../shapes/openapi.js';
import { errorCodes, errorTable } from './error-table.js';
import type { ErrorText } from './error-texts.js';
import { addExamples } from './examples.js';
import {
  declareFields,
  describeFields,
  fieldsOf,
  isOpen,
  typeOf,
  type JsonSchema,
} from './json-schema.js';
import type { Content, Operation } from './openapi-operation.js';
import type { ReferenceFiles } from './reference-files.js';
import type { FieldTexts, OperationText, Reference } from './reference-texts.js';
import { codeSamples, type SampleKey } from './samples.js';

export interface DescribedInterface {
  readonly document: OpenAPIObject;
  /** Undescribed operations, parameters and fields, and texts without one. */
  readonly problems: readonly string[];
}

const METHODS = ['get', 'post', 'put', 'patch', 'delete'];

/** The generated document with the texts of the reference. */
export function describedInterface(
  generated: OpenAPIObject,
  { reference, errors }: ReferenceFiles,
): DescribedInterface {
  const document = JSON.parse(JSON.stringify(generated)) as OpenAPIObject;
  document.info.description = reference.introduction;
  // The library's types are for OpenAPI 3.0.
  Object.assign(document.info, {
    license: { name: 'Unlicensed', identifier: 'LicenseRef-Unlicensed' },
  });
  document.tags = reference.tags.map(({ name, description }) => ({ name, description }));
  const operations = operationsOf(document);
  const problems = [
    ...reference.tags.flatMap((tag) =>
      tag.operations.flatMap((text) => {
        const operation = operations.get(text.route);
        if (operation === undefined) return [`${text.route} is described and does not exist`];
        operation.tags = [tag.name];
        return describeOperation(operation, text, { reference, errors });
      }),
    ),
    ...describeShapes(document, reference),
    ...undescribed(operations, reference),
  ];
  return { document, problems };
}

function operationsOf({ paths }: OpenAPIObject): ReadonlyMap<string, Operation> {
  return new Map(
    Object.entries(paths).flatMap(([path, item]) =>
      Object.entries(item)
        .filter(([method]) => METHODS.includes(method))
        .map(([method, operation]) => [
          `${method.toUpperCase()} ${path}`,
          // The type allows references everywhere, but the generated document has none here.
          operation as unknown as Operation,
        ]),
    ),
  );
}

interface Texts {
  readonly reference: Reference;
  readonly errors: ReadonlyMap<string, ErrorText>;
}

const SUCCESS: Readonly<Record<string, string>> = {
  '200': 'Success.',
  '201': 'Created.',
  '202': 'The operation takes longer and continues as a run.',
  '204': 'Success; the answer is empty.',
};

function describeOperation(
  operation: Operation,
  text: OperationText,
  { reference, errors }: Texts,
): readonly string[] {
  const codes = errorCodes(operation);
  const success = successOf(operation);
  const problems = [
    ...describeParameters(operation, text.parameters, reference.parameters),
    ...describeBody(operation.requestBody?.content, text.requestFields),
    ...describeBody(success?.content, text.responseFields),
    ...describeRun(operation, reference),
    ...addExamples(operation, text),
    ...codes.filter((code) => !errors.has(code)).map((code) => `${code} is not in docs/errors.md`),
    ...unknown(text.errors, new Set(codes)),
    ...(text.description === '' ? ['has no description'] : []),
  ];
  if (success !== undefined && text.links.size > 0) success.links = linksOf(text, reference);
  operation.operationId = text.id;
  operation.security ??= [];
  if (success === undefined) operation.responses['default'] = { description: 'Any other error.' };
  if (text.request !== undefined)
    operation['x-codeSamples'] = codeSamples(text.request, sampleKeyOf(operation));
  operation.summary = text.title;
  for (const [status, response] of Object.entries(operation.responses))
    if (response.description === '') response.description = SUCCESS[status] ?? 'Success.';
  operation.description = `${text.description}\n\n${errorTable(codes, text.errors, errors)}`;
  return problems.map((problem) => `${text.route}: ${problem}`);
}

/** Links to operations that a client calls next; equal path values are passed on. */
function linksOf({ route, links }: OperationText, { tags }: Reference): object {
  const all = tags.flatMap(({ operations }) => operations);
  const entries = [...links].map(([id, { text: description }]) => {
    const target = all.find((one) => one.id === id)?.route ?? '';
    const values: readonly (readonly [string, string])[] = [
      ...[...target.matchAll(/\{(\w+)\}/g)]
        .filter(([parameter]) => route.includes(parameter))
        .map(([, name = '']) => [name, `$request.path.${name}`] as const),
      ...[...description.matchAll(/`(\w+)` is `(\$[^`]+)`/g)].map(
        ([, name = '', value = '']) => [name, value] as const,
      ),
    ];
    const link = { operationId: id, description, parameters: Object.fromEntries(values) };
    return [id, link] as const;
  });
  return Object.fromEntries(entries);
}

/** An API key if one is accepted, because a token must be created first. */
function sampleKeyOf({ security = [] }: Operation): SampleKey {
  const accepts = (scheme: string): boolean => security.some((one) => scheme in one);
  if (accepts(OPERATOR_SCHEME)) return 'OPERATOR_KEY';
  return accepts(API_KEY_SCHEME) ? 'API_KEY' : undefined;
}

function describeParameters(
  operation: Operation,
  own: FieldTexts,
  ofAll: FieldTexts,
): readonly string[] {
  const parameters = (operation.parameters ??= []);
  for (const [name, { type }] of own)
    if (type !== undefined && !parameters.some((parameter) => parameter.name === name))
      parameters.push({ name, in: 'query', required: false, schema: typeOf(type) });
  for (const parameter of parameters) {
    const text = own.get(parameter.name) ?? ofAll.get(parameter.name);
    if (text !== undefined) parameter.description = text.text;
  }
  return [
    ...unknown(own, new Set(parameters.map(({ name }) => name))),
    ...parameters
      .filter(({ description = '' }) => description === '')
      .map(({ name }) => `the parameter ${name} has no description`),
  ];
}

/** Describes the fields of this operation; named shapes are described separately. */
function describeBody(content: Content | undefined, texts: FieldTexts): readonly string[] {
  const schemas = Object.values(content ?? {}).flatMap(({ schema }) => schema ?? []);
  const used = new Set<string>();
  for (const schema of schemas) {
    if (isOpen(schema)) declareFields(schema, texts);
    for (const path of describeFields(schema, texts)) used.add(path);
  }
  return [...unknown(texts, used), ...schemas.flatMap(withoutDescription)];
}

/** Describes the run of a 202 answer if there are other answers. */
function describeRun(operation: Operation, { tags }: Reference): readonly string[] {
  const run = tags.flatMap(({ operations }) => operations).find(({ id }) => id === 'getRun');
  const accepted = operation.responses['202'];
  if (run === undefined || accepted === undefined || accepted === successOf(operation)) return [];
  accepted.links = {
    getRun: { operationId: 'getRun', parameters: { runId: '$response.body#/id' } },
  };
  return describeBody(accepted.content, run.responseFields);
}

const successOf = ({ responses }: Operation) =>
  Object.entries(responses).find(([status]) => status.startsWith('2'))?.[1];

const unknown = (texts: FieldTexts, known: ReadonlySet<string>): readonly string[] =>
  [...texts.keys()]
    .filter((name) => !known.has(name))
    .map((name) => `${name} is described and does not exist`);

const withoutDescription = (schema: JsonSchema): readonly string[] =>
  fieldsOf(schema)
    .filter(([, { description = '' }]) => description === '')
    .map(([path]) => `the field ${path} has no description`);

function describeShapes({ components }: OpenAPIObject, { shapes }: Reference): readonly string[] {
  const schemas = new Map(
    Object.entries((components?.schemas ?? {}) as Record<string, JsonSchema>),
  );
  const problems = shapes.flatMap(({ names, fields }) => {
    const used = names.map((name) => describeFields(schemas.get(name) ?? {}, fields));
    return [
      ...names.filter((name) => !schemas.has(name)).map((name) => `${name} does not exist`),
      ...unknown(fields, new Set(used.flatMap((paths) => [...paths]))).map(
        (problem) => `${names.join(', ')}: ${problem}`,
      ),
    ];
  });
  return [
    ...problems,
    ...[...schemas].flatMap(([name, schema]) =>
      withoutDescription(schema).map((problem) => `${name}: ${problem}`),
    ),
  ];
}

function undescribed(
  operations: ReadonlyMap<string, Operation>,
  { tags }: Reference,
): readonly string[] {
  const texts = tags.flatMap((tag) => tag.operations);
  const routes = new Set(texts.map(({ route }) => route));
  const ids = texts.map(({ id }) => id);
  return [
    ...[...operations.keys()]
      .filter((route) => !routes.has(route))
      .map((route) => `${route} has no description`),
    ...ids
      .filter((id, index) => ids.indexOf(id) !== index)
      .map((id) => `${id} is the id of several operations`),
  ];
}
