import * as z from 'zod';
import { mode, text, textUpTo, time } from './operator-request.js';

export const shownPaymentsRequest = z.strictObject({ mode, account: text.optional() });

export const connectRequest = z
  .strictObject({
    mode,
    provider: text.meta({ enum: ['stripe'] }),
    secretKey: text.meta({ pattern: '^[rs]k_(?:live|test)_[A-Za-z0-9_]{4,200}$' }),
    webhookSecret: text.meta({ pattern: '^whsec_[A-Za-z0-9+/=_-]{4,200}$' }),
    apiBase: textUpTo(2_000).meta({ format: 'iri' }).optional(),
  })
  .meta({
    not: {
      anyOf: [
        { properties: { mode: { const: 'live' }, secretKey: { pattern: '^[rs]k_test_' } } },
        {
          properties: { mode: { const: 'test' }, secretKey: { pattern: '^[rs]k_live_' } },
          required: ['mode'],
        },
      ],
    },
  });

export const scopeRequest = z.strictObject({ mode });

export const syncRequest = z.strictObject({ mode, since: time.optional() });
