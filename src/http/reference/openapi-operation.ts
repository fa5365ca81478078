import type { JsonSchema } from './json-schema.js';
import type { CodeSample } from './samples.js';

/** The used part of an operation. */
export interface Operation {
  operationId?: string;
  tags?: string[];
  summary?: string;
  description?: string;
  parameters?: Parameter[];
  requestBody?: { content: Content };
  responses: Record<string, { description: string; content?: Content; links?: object }>;
  security?: Record<string, string[]>[];
  'x-codeSamples'?: readonly CodeSample[];
}

export type Content = Record<string, { schema?: JsonSchema; example?: unknown }>;

interface Parameter {
  name: string;
  in: string;
  required?: boolean;
  schema?: JsonSchema;
  description?: string;
  example?: unknown;
}
