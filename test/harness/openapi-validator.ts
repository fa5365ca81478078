import type { OpenAPIObject } from '@nestjs/swagger';
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';

export interface ReceivedAnswer {
  readonly method: string;
  /** Path and query, percent-encoded as it was sent. */
  readonly path: string;
  readonly status: number;
  /** The parsed body; undefined: none. */
  readonly body: unknown;
}

const DOCUMENT_ID = 'openapi.json';

/** Of bodies that are JSON. */
const JSON_TYPES = ['application/json', 'application/schema+json'];

/** Holds real answers against the description of the interface. */
export class OpenApiValidator {
  private readonly ajv = new Ajv2020({ strict: false, allErrors: true, validateFormats: true });
  private readonly templates: readonly { readonly template: string; readonly pattern: RegExp }[];

  constructor(readonly document: OpenAPIObject) {
    addFormats.default(this.ajv);
    this.ajv.addSchema(closed(document), DOCUMENT_ID);
    // A literal segment goes before a parameter, as in the router.
    this.templates = Object.keys(document.paths)
      .sort((a, b) => (a.match(/\{/g)?.length ?? 0) - (b.match(/\{/g)?.length ?? 0))
      .map((template) => ({
        template,
        pattern: new RegExp(
          `^${template.replace(/[.*+?^$()|[\]\\]/g, '\\$&').replace(/\{\w+\}/g, '[^/]+')}/?$`,
        ),
      }));
  }

  /**
   * What is wrong with an answer, one line each; empty: nothing. Undescribed routes, statuses and
   * members are wrong as well. An unknown path or method is in no description and is passed.
   */
  problems({ method, path, status, body }: ReceivedAnswer): readonly string[] {
    const verb = method.toLowerCase();
    const template = this.templateOf(method, path);
    if (template === undefined)
      return status === 404 || status === 405
        ? []
        : [`${method} ${path.split('?')[0] ?? ''} is not described`];
    const where = `${method} ${template} ${status}`;
    const operation: unknown = Reflect.get(this.document.paths[template] ?? {}, verb);
    const response = member(member(operation, 'responses'), String(status));
    if (response === undefined) return [`${where}: the status is not described`];
    const content = member(response, 'content');
    const type = JSON_TYPES.find((one) => member(member(content, one), 'schema') !== undefined);
    if (type === undefined) return body === undefined ? [] : [`${where}: a body is not described`];
    const pointer = [
      'paths',
      template,
      verb,
      'responses',
      String(status),
      'content',
      type,
      'schema',
    ]
      .map(escaped)
      .join('/');
    return this.misfits(pointer, body).map((misfit) => `${where}: ${misfit}`);
  }

  /** The path template of the operation that serves the request; undefined: none does. */
  templateOf(method: string, path: string): string | undefined {
    // The router ends a path at either.
    const pathname = path.split(/[?#]/)[0] ?? '';
    return this.templates.find(
      ({ pattern, template }) =>
        pattern.test(pathname) && method.toLowerCase() in (this.document.paths[template] ?? {}),
    )?.template;
  }

  /** What is wrong with the body of an error, whichever route answered it. */
  problemsOfError(body: unknown): readonly string[] {
    return this.misfits('components/schemas/ErrorResponse', body);
  }

  private misfits(pointer: string, body: unknown): readonly string[] {
    const validate = this.ajv.getSchema(`${DOCUMENT_ID}#/${pointer}`);
    if (validate === undefined) return ['the schema cannot be read'];
    if (validate(body) === true) return [];
    return (validate.errors ?? []).map(
      ({ instancePath, message, params }) =>
        `${instancePath || '/'} ${message ?? ''} ${JSON.stringify(params)}`,
    );
  }

  check(answer: ReceivedAnswer): void {
    const problems = this.problems(answer);
    if (problems.length > 0)
      throw new Error(`${problems.join('\n')}\n${JSON.stringify(answer.body)}`);
  }
}

/** In a URI fragment a pointer is percent-encoded on top of its own escapes. */
const escaped = (part: string): string =>
  encodeURIComponent(part.replace(/~/g, '~0').replace(/\//g, '~1'));

function member(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, name)
    ? Reflect.get(value, name)
    : undefined;
}

/** A copy in which shapes and documents of operations have no members but those described. */
function closed(document: OpenAPIObject): OpenAPIObject {
  const copy = structuredClone(document);
  for (const schema of Object.values(copy.components?.schemas ?? {})) close(schema, false);
  const items: readonly object[] = Object.values(copy.paths);
  for (const operation of items.flatMap((item): unknown[] => Object.values(item)))
    for (const [status, response] of Object.entries(member(operation, 'responses') ?? {}))
      if (status.startsWith('2'))
        for (const content of Object.values(member(response, 'content') ?? {}))
          close(member(content, 'schema'), true);
  return copy;
}

/** @param isDeep with the schemas of its members. */
function close(schema: unknown, isDeep: boolean): void {
  if (typeof schema !== 'object' || schema === null) return;
  if ('properties' in schema && !('additionalProperties' in schema))
    Object.assign(schema, { additionalProperties: false });
  if (!isDeep) return;
  for (const inner of Object.values(member(schema, 'properties') ?? {})) close(inner, true);
  close(member(schema, 'items'), true);
  close(member(schema, 'additionalProperties'), true);
}
