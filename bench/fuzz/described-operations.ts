import type { OpenAPIObject } from '@nestjs/swagger';
import { z } from 'zod';

/** A JSON Schema, as far as the description uses it for requests. */
export interface Schema {
  readonly $ref?: string | undefined;
  readonly type?: string | readonly string[] | undefined;
  readonly enum?: readonly unknown[] | undefined;
  readonly pattern?: string | undefined;
  readonly minLength?: number | undefined;
  readonly maxLength?: number | undefined;
  readonly minimum?: number | undefined;
  readonly maximum?: number | undefined;
  readonly minItems?: number | undefined;
  readonly maxItems?: number | undefined;
  readonly maxProperties?: number | undefined;
  readonly items?: Schema | undefined;
  readonly properties?: Readonly<Record<string, Schema>> | undefined;
  readonly required?: readonly string[] | undefined;
  readonly additionalProperties?: boolean | Schema | undefined;
  readonly oneOf?: readonly Schema[] | undefined;
  readonly anyOf?: readonly Schema[] | undefined;
}

/** Who may call: nobody is asked, a tenant's key, a key or a user's token, an operator's key. */
export type Access = 'anyone' | 'key' | 'user' | 'operator';

export interface Parameter {
  readonly name: string;
  readonly in: 'path' | 'query' | 'header';
  readonly required: boolean;
  readonly schema: Schema;
}

export interface Operation {
  /** `POST /api/v1/{tenantAlias}/user`. */
  readonly key: string;
  readonly method: string;
  readonly template: string;
  readonly access: Access;
  /** May answer 202 with a run that goes on. */
  readonly isRun: boolean;
  readonly parameters: readonly Parameter[];
  readonly body: Schema | undefined;
}

const optionalNumber = z.number().optional();
const schema: z.ZodType<Schema> = z.lazy(() =>
  z.object({
    $ref: z.string().optional(),
    type: z.union([z.string(), z.array(z.string())]).optional(),
    enum: z.array(z.unknown()).optional(),
    pattern: z.string().optional(),
    minLength: optionalNumber,
    maxLength: optionalNumber,
    minimum: optionalNumber,
    maximum: optionalNumber,
    minItems: optionalNumber,
    maxItems: optionalNumber,
    maxProperties: optionalNumber,
    items: schema.optional(),
    properties: z.record(z.string(), schema).optional(),
    required: z.array(z.string()).optional(),
    additionalProperties: z.union([z.boolean(), schema]).optional(),
    oneOf: z.array(schema).optional(),
    anyOf: z.array(schema).optional(),
  }),
);

const operation = z.object({
  security: z.array(z.record(z.string(), z.unknown())).optional(),
  parameters: z
    .array(
      z.object({
        name: z.string(),
        in: z.enum(['path', 'query', 'header']),
        required: z.boolean().default(false),
        schema,
      }),
    )
    .default([]),
  requestBody: z
    .object({ content: z.object({ 'application/json': z.object({ schema }) }) })
    .optional(),
  responses: z.record(z.string(), z.unknown()),
});

const description = z.object({
  paths: z.record(z.string(), z.record(z.string(), operation)),
  components: z.object({ schemas: z.record(z.string(), schema) }),
});

/** The operations of the interface, and the schemas that their requests name. */
export class DescribedOperations {
  readonly operations: readonly Operation[];
  private readonly schemas: Readonly<Record<string, Schema>>;

  constructor(document: OpenAPIObject) {
    const { paths, components } = description.parse(document);
    this.schemas = components.schemas;
    this.operations = Object.entries(paths).flatMap(([template, methods]) =>
      Object.entries(methods).map(([verb, described]) => ({
        key: `${verb.toUpperCase()} ${template}`,
        method: verb.toUpperCase(),
        template,
        access: accessOf(described.security ?? []),
        isRun: '202' in described.responses,
        parameters: described.parameters,
        body: described.requestBody?.content['application/json'].schema,
      })),
    );
  }

  /** The schema itself, and the name under which the description has it. */
  resolve(given: Schema): { readonly name: string; readonly schema: Schema } {
    const name = given.$ref?.split('/').at(-1);
    if (name === undefined) return { name: '', schema: given };
    const named = this.schemas[name];
    if (named === undefined) throw new Error(`${name} is not described`);
    return { name, schema: named };
  }
}

function accessOf(security: readonly Readonly<Record<string, unknown>>[]): Access {
  const schemes = security.flatMap((accepted) => Object.keys(accepted));
  if (schemes.includes('operatorKey')) return 'operator';
  if (schemes.includes('userToken')) return 'user';
  return schemes.includes('apiKey') ? 'key' : 'anyone';
}
