import * as z from 'zod';
import {
  ENDPOINT_URL_MAX,
  parseEndpoint,
  URL_PATTERN,
} from '../../webhooks/sending/endpoint-url.js';
import { DELIVERY_STATES } from '../../webhooks/deliveries/shown-deliveries.js';
import { WEBHOOK_TYPES } from '../../webhooks/payloads/announced.js';
import { SigningKeys } from '../../webhooks/signing/signing-keys.js';
import { shownStaff } from '../audit.js';
import { fullId, idsOf } from '../registry/full-id.js';
import { duration, given, help, limit, msOf, text, textUpTo, time } from '../registry/members.js';
import type { ScopedContext } from '../registry/context.js';
import {
  ledgerOperation,
  type Operation,
  recordedOperation,
  serviceOperation,
} from '../registry/operation.js';
import { printFacts as print } from '../registry/printing.js';
import { get, post, remove } from '../registry/routes.js';
import { listedDeliveries, resendDeliveries, showDelivery, sinceOf } from './deliveries.js';
import {
  addEndpoint,
  enableEndpoint,
  removeEndpoint,
  rotateEndpointSecret,
  showEndpoints,
} from './endpoints.js';
import { listen } from './listen-to-webhooks.js';
import { test, trigger } from './send-samples.js';
import { endpoint, endpointUrl, url } from './webhook-members.js';

const DELIVERY = 'the id of the delivery';
const since = given(time.optional(), {
  placeholder: 'time',
  help: 'of events from this time on',
});

/** The JSON Schema of a request with these members. */
const having = (...members: readonly string[]) => ({
  required: members,
  properties: Object.fromEntries(members.map((name) => [name, {}])),
});

const deliveryId = async (context: ScopedContext, id: string) =>
  await fullId(context, id, idsOf(context.core.pool, 'ledger.webhook_deliveries', context.scope));

export const operations: readonly Operation[] = [
  ledgerOperation({
    name: 'webhook list',
    summary: 'endpoints: state, waiting and dead deliveries',
    roles: ['support'],
    route: get('webhooks/{tenant}'),
    examples: ['webhook list acme'],
    empty: 'no endpoints yet: see webhook add',
    run: ({ core, scope }) => showEndpoints(core, scope),
    columns: [
      ['url', 'endpointUrl'],
      'name',
      ['types', ({ eventTypes }) => eventTypes?.join(', ') ?? 'all'],
      'state',
      ['waiting', 'waiting', 'amount'],
      ['dead', 'dead', 'amount'],
      ['last success', 'lastSuccess'],
    ],
  }),
  recordedOperation({
    name: 'webhook add',
    summary: 'subscribes an endpoint, or changes and enables a known one',
    members: {
      endpointUrl: given(
        z
          .string('must be a text')
          .refine(
            (value) => !('problem' in parseEndpoint(value)),
            'must be a URL such as https://shop.example/webhooks',
          )
          .meta({ format: 'iri', pattern: URL_PATTERN, maxLength: ENDPOINT_URL_MAX }),
        { option: 'endpoint', placeholder: 'url', help: 'its URL' },
      ),
      name: help(textUpTo(255).optional(), 'names the endpoint'),
      eventTypes: given(
        z
          .array(
            z.enum([...WEBHOOK_TYPES, 'all'], `takes all, or some of ${WEBHOOK_TYPES.join(',')}`),
          )
          .min(1, 'must not be empty')
          .optional(),
        {
          option: 'types',
          placeholder: 'types',
          hasCommas: true,
          help: `all, or some of ${WEBHOOK_TYPES.join(',')}; default: all of a new endpoint`,
        },
      ),
    },
    roles: ['support'],
    route: { ...post('webhooks/{tenant}'), status: 201 },
    examples: ['webhook add acme --endpoint https://shop.example/hooks --types reward.created'],
    record: async ({ core, payments, meta }, { eventTypes: some, ...added }) =>
      addEndpoint(core, await payments.guard(), meta, { ...added, types: some }),
    print,
  }),
  recordedOperation({
    name: 'webhook remove',
    summary: 'ends a subscription; its waiting deliveries are dropped',
    members: { endpointUrl },
    roles: ['support'],
    route: remove('webhooks/{tenant}', 'ENDPOINT_NOT_FOUND'),
    examples: ['webhook remove acme --endpoint https://shop.example/hooks'],
    record: ({ core, meta }, { endpointUrl: to }) => removeEndpoint(core, meta, to),
    said: ({ endpointUrl: to }) => `${to} is unsubscribed`,
  }),
  test,
  trigger,
  ledgerOperation({
    name: 'webhook deliveries',
    summary: 'deliveries, newest first',
    members: {
      endpoint: given(url.optional(), { placeholder: 'url', help: 'of this endpoint' }),
      state: help(z.enum(DELIVERY_STATES).optional(), DELIVERY_STATES.join(', ')),
      type: help(z.enum(WEBHOOK_TYPES).optional(), 'of this type of event'),
      since,
      limit: limit(100),
    },
    roles: ['support'],
    route: get('webhooks/{tenant}/deliveries'),
    examples: [
      'webhook deliveries acme --state DEAD --since 2026-01-31',
      'webhook deliveries acme --limit 20',
    ],
    empty: 'no deliveries',
    run: ({ core, scope }, { since: from, ...selection }) =>
      listedDeliveries(core, scope, { ...selection, since: sinceOf(from) }),
    columns: [
      'id',
      'type',
      ['url', ({ endpointUrl: to }) => to ?? '(unsubscribed)'],
      'state',
      ['attempts', 'attempts', 'amount'],
      ['next', 'nextAttemptAt'],
      'created',
    ],
  }),
  ledgerOperation({
    name: 'webhook show',
    summary: 'a delivery with its attempts',
    members: { delivery: help(text, DELIVERY) },
    positions: ['delivery'],
    roles: ['support'],
    route: get('webhooks/{tenant}/deliveries/{delivery}', 'DELIVERY_NOT_FOUND'),
    examples: ['webhook show acme 3f0c9a52-6d0e-5c1b-9d2a-0b7f4f1f6a11'],
    run: async (context, { delivery: one }) =>
      showDelivery(context.core, context.scope, await deliveryId(context, one)),
    print: ({ attempts, ...facts }, printer) => {
      print(facts, printer);
      printer.table(
        [
          ['attempt', 'at'],
          ['answer', ({ status, reason }) => status ?? reason],
          ['ms', 'ms', 'amount'],
        ],
        attempts,
      );
    },
  }),
  recordedOperation({
    name: 'webhook resend',
    summary: 'sends a delivery again, or all of an endpoint since a time, with the same ids',
    members: {
      delivery: help(text.optional(), DELIVERY),
      endpoint: given(url.optional(), {
        placeholder: 'url',
        help: 'all of this endpoint; with --since',
      }),
      since,
    },
    positions: ['delivery'],
    rules: [
      {
        check: ({ delivery: one, endpoint: to, since: from }) => {
          const isAll = to !== undefined && from !== undefined;
          const isPart = to !== undefined || from !== undefined;
          return (one === undefined ? isAll : !isPart)
            ? undefined
            : 'name {delivery}, or {endpoint} and {since}';
        },
        schema: {
          oneOf: [
            { ...having('delivery'), not: { anyOf: [having('endpoint'), having('since')] } },
            { ...having('endpoint', 'since'), not: having('delivery') },
          ],
        },
      },
    ],
    roles: ['support'],
    route: post('webhooks/{tenant}/resend', 'ENDPOINT_NOT_FOUND', 'DELIVERY_NOT_FOUND'),
    examples: [
      'webhook resend acme 3f0c9a52-6d0e-5c1b-9d2a-0b7f4f1f6a11',
      'webhook resend acme --endpoint https://shop.example/hooks --since 2026-01-31',
    ],
    record: async (context, { delivery: one, endpoint: to = '', since: from = '' }) => {
      const { core, scope } = context;
      if (one === undefined) return resendDeliveries(core, scope, { endpoint: to, since: from });
      return resendDeliveries(core, scope, { delivery: await deliveryId(context, one) });
    },
    said: ({ resent }) => `${resent} sent again`,
  }),
  recordedOperation({
    name: 'webhook enable',
    summary: 'deliveries to a disabled endpoint begin again',
    members: { endpoint },
    roles: ['support'],
    route: post('webhooks/{tenant}/enable', 'ENDPOINT_NOT_FOUND'),
    examples: ['webhook enable acme --endpoint https://shop.example/hooks'],
    record: ({ core, meta }, { endpoint: to }) => enableEndpoint(core, meta, to),
  }),
  recordedOperation({
    name: 'webhook rotate-secret',
    summary: 'a new secret; the one before signs for the grace',
    members: {
      endpoint,
      grace: help(duration.default('24h'), 'how long the old one signs as well; 0 ends it now'),
    },
    roles: ['support'],
    route: post('webhooks/{tenant}/rotate-secret', 'ENDPOINT_NOT_FOUND'),
    examples: ['webhook rotate-secret acme --endpoint https://shop.example/hooks --grace 24h'],
    record: ({ core, meta, note }, request) => {
      const { grace } = request;
      note(`A secret is shown once, when it is made. The one before signs as well for ${grace}.`);
      return rotateEndpointSecret(core, meta, request);
    },
  }),
  serviceOperation({
    name: 'webhook rotate-signing-key',
    summary: 'a new key for the JWS of all webhooks; the one before is served for the grace',
    members: { grace: help(duration.default('7d'), 'how long the key before is served') },
    roles: ['support'],
    isRecorded: true,
    route: post('webhooks/rotate-signing-key'),
    examples: ['webhook rotate-signing-key --grace 7d'],
    run: ({ core, by }, { grace }) =>
      new SigningKeys(core.pool, core.webhookKeysSealer).rotate(msOf(grace), shownStaff(by)),
    said: ({ kid }) => `webhooks are signed with the key ${kid} from now on`,
  }),
  listen,
];
