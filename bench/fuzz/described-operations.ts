import type { OpenAPIObject } from '@nestjs/swagger';
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { RawText } from './slots.js';

/** A JSON Schema, as far as values are made from it. Ajv reads the others, too. */
export interface Schema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly pattern?: string;
  readonly format?: string;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly maxProperties?: number;
  readonly uniqueItems?: boolean;
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly propertyNames?: Schema;
  readonly additionalProperties?: boolean | Schema;
  readonly oneOf?: readonly Schema[];
  readonly anyOf?: readonly Schema[];
  readonly allOf?: readonly Schema[];
  readonly unevaluatedProperties?: boolean;
  readonly then?: Schema;
}

/** Who may call: anyone, a tenant's key, a key or a user's token, an operator's key. */
export type Access = 'anyone' | 'key' | 'user' | 'operator';

/** Members are placed by name; the body is JSON. */
export interface Draft {
  readonly path: Readonly<Record<string, unknown>>;
  readonly query: Readonly<Record<string, unknown>>;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly body?: unknown;
}

export interface Parameter {
  readonly name: string;
  readonly in: 'path' | 'query' | 'header';
  readonly required?: boolean;
  readonly schema: Schema;
}

export interface Operation {
  /** `POST /api/v1/{tenantAlias}/user`. */
  readonly key: string;
  readonly method: string;
  readonly template: string;
  readonly access: Access;
  /** May answer 202 with a run that continues. */
  readonly isRun: boolean;
  readonly parameters: readonly Parameter[];
  readonly body: Schema | undefined;
  readonly needsBody: boolean;
}

interface DescribedOperation {
  readonly security?: readonly Readonly<Record<string, unknown>>[];
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: {
    readonly required?: boolean;
    readonly content: { readonly 'application/json': { readonly schema: Schema } };
  };
  readonly responses: Readonly<Record<string, unknown>>;
}

interface Description {
  readonly paths: Readonly<Record<string, Readonly<Record<string, DescribedOperation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> };
}

const DOCUMENT_ID = 'openapi.json';

/** A body that no schema describes: it is left out. */
const isFile = (content: object = { 'application/json': {} }): boolean =>
  !('application/json' in content);

/** The operations of the interface, and the schemas that their requests name. */
export class DescribedOperations {
  readonly operations: readonly Operation[];
  private readonly schemas: Readonly<Record<string, Schema>>;
  private readonly ajv = new Ajv2020({ strict: false });

  constructor(document: OpenAPIObject) {
    // So that a reference can be followed from each part by itself.
    const text = JSON.stringify(document).replaceAll('"#/', `"${DOCUMENT_ID}#/`);
    const { paths, components } = JSON.parse(text) as Description;
    this.schemas = components.schemas;
    addFormats.default(this.ajv);
    this.ajv.addFormat('iri', (text) => URL.canParse(text));
    this.ajv.addSchema({ components }, DOCUMENT_ID);
    this.operations = Object.entries(paths).flatMap(([template, methods]) =>
      Object.entries(methods)
        .filter(([, { requestBody }]) => !isFile(requestBody?.content))
        .map(([verb, { security = [], parameters = [], ...described }]) => ({
          key: `${verb.toUpperCase()} ${template}`,
          method: verb.toUpperCase(),
          template,
          access: accessOf(security),
          isRun: '202' in described.responses,
          parameters,
          body: described.requestBody?.content['application/json'].schema,
          needsBody: described.requestBody?.required === true,
        })),
    );
  }

  /** What a reference leads to. */
  resolve(given: Schema): Schema {
    const path = given.$ref?.split('/').slice(3) ?? [];
    const found = path.reduce<unknown>(
      (part, name) => Reflect.get(Object(part), name),
      this.schemas,
    );
    if (found === undefined) throw new Error(`${path.join('/')} is not described`);
    return found as Schema;
  }

  /** What the description forbids in a request; empty: it allows the request. */
  faults({ parameters, body, needsBody }: Operation, draft: Draft): readonly string[] {
    const ofParameters = parameters.flatMap(({ name, in: place, required, schema }) => {
      const given = draft[place === 'header' ? 'headers' : place][name];
      // An empty one counts as none.
      const isNone =
        place === 'query' && given === '' && required !== true && schema.type !== 'boolean';
      if (given === undefined || isNone)
        return required === true ? [`${place} ${name} is missing`] : [];
      return this.misfits(schema, typed(given, schema), `${place} ${name}`);
    });
    const ofBody =
      draft.body === undefined
        ? needsBody
          ? ['the body is missing']
          : []
        : this.misfits(body ?? {}, JSON.parse(JSON.stringify(draft.body)), 'body');
    return [...ofParameters, ...ofBody];
  }

  private misfits(schema: Schema, value: unknown, where: string): readonly string[] {
    const fits = this.ajv.compile(schema);
    return fits(value)
      ? []
      : (fits.errors ?? []).map(
          ({ instancePath, message }) => `${where}${instancePath} ${message ?? ''}`,
        );
  }
}

/** A value of a parameter as its text is read. */
function typed(given: unknown, schema: Schema): unknown {
  const text = textOf(given);
  const types = [schema.type ?? []].flat();
  if (types.includes('integer') && /^-?(?:0|[1-9]\d*)$/.test(text)) return Number(text);
  if (types.includes('boolean') && /^(?:true|false)$/.test(text)) return text === 'true';
  return text;
}

/** As a parameter is sent. */
export const textOf = (value: unknown): string =>
  value instanceof RawText
    ? value.text
    : typeof value === 'string'
      ? value
      : (JSON.stringify(value) ?? '');

function accessOf(security: readonly Readonly<Record<string, unknown>>[]): Access {
  const schemes = security.flatMap((accepted) => Object.keys(accepted));
  if (schemes.includes('operatorKey')) return 'operator';
  if (schemes.includes('userToken')) return 'user';
  return schemes.includes('apiKey') ? 'key' : 'anyone';
}
