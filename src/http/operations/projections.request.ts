import * as z from 'zod';
import { mode, text, wholeNumber } from './operator-request.js';

const choice = { projection: text.optional(), all: z.boolean().default(false) };
const NAMED = { required: ['projection'], properties: { projection: {} } };
/** In JSON Schema: one projection, or all. */
const ONE_OR_ALL = [
  { required: ['projection'], properties: { projection: {}, all: { const: false } } },
  { required: ['all'], properties: { all: { const: true } }, not: NAMED },
];
export const choiceRequest = z.strictObject(choice).meta({ oneOf: ONE_OR_ALL });

const SET = { const: true };
export const rebuildRequest = z
  .strictObject({
    ...choice,
    dryRun: z.boolean().default(false),
    resume: z.boolean().default(false),
    tenant: text.optional(),
    account: text.optional(),
    mode,
  })
  .meta({
    oneOf: ONE_OR_ALL,
    dependentRequired: { account: ['tenant'] },
    // Of whole projections, and not both.
    not: {
      anyOf: [
        { required: ['dryRun', 'resume'], properties: { dryRun: SET, resume: SET } },
        { required: ['tenant', 'dryRun'], properties: { tenant: {}, dryRun: SET } },
        { required: ['tenant', 'resume'], properties: { tenant: {}, resume: SET } },
      ],
    },
  });
export const skipRequest = z
  .strictObject({
    tenant: text.optional(),
    account: text.optional(),
    mode,
    stream: text.optional(),
    reason: text,
  })
  .meta({
    oneOf: [{ required: ['tenant', 'account'] }, { required: ['stream'] }],
    dependentRequired: { tenant: ['account'], account: ['tenant'] },
  });
export const diffRequest = z.strictObject({ limit: wholeNumber(10_000).default(1_000) });
export const retryRequest = z.strictObject({ projection: text.optional() });
