import * as z from 'zod';
import { modeOf } from '../../domain/scope.js';
import { newId } from '../../foundation/world.js';
import {
  sendOnce,
  type EventlessWebhook,
  type SendResult,
} from '../../webhooks/deliveries/send-once.js';
import { WEBHOOK_TYPES, type WebhookType } from '../../webhooks/payloads/announced.js';
import { testData } from '../../webhooks/payloads/presented.js';
import { sampleData, sampleHeaders } from '../../webhooks/payloads/sample-data.js';
import { WebhookForwarder } from '../../webhooks/sending/webhook-forwarder.js';
import { SigningKeys } from '../../webhooks/signing/signing-keys.js';
import type { Subscription } from '../../webhooks/subscriptions/webhook-subscriptions.js';
import type { Done } from '../audited.js';
import { notDone } from '../outcome.js';
import type { ScopedContext } from '../registry/context.js';
import { given, help, testMode } from '../registry/members.js';
import { recordedOperation } from '../registry/operation.js';
import { post } from '../registry/routes.js';
import { enabled } from './endpoints.js';
import { endpointUrl, forwardTo } from './webhook-members.js';

const isAccepted = ({ status }: SendResult): boolean =>
  status !== null && status >= 200 && status <= 299;

type SendingContext = Pick<ScopedContext, 'core' | 'payments' | 'scope'>;

/** Sends a test event to an endpoint, whatever types it receives. @returns its delivery. */
export async function sendTest(
  context: SendingContext,
  to: string,
): Promise<Done<SendResult & { readonly id: string }>> {
  const endpoint = await enabled(context.core, context.scope, to);
  const data = testData(endpoint.endpointUrl, endpoint.name);
  const [result] = await sentTo(context, [endpoint], () => ({ type: 'test', data }));
  if (result === undefined) throw new Error('a test has no answer');
  return { result, parameters: {}, completed: 'a test event was sent' };
}

export const test = recordedOperation({
  name: 'webhook test',
  summary: 'sends a test event immediately and once, whatever types the endpoint receives',
  members: { endpointUrl },
  roles: ['support'],
  isLong: true,
  route: post('webhooks/{tenant}/test', 'ENDPOINT_NOT_FOUND'),
  examples: ['webhook test acme --endpoint https://shop.example/hooks'],
  record: async (context, { endpointUrl: to }) => {
    const { result, ...done } = await sendTest(context, to);
    const { status, ms, reason } = result;
    return { ...done, result: { status, ms, reason } };
  },
  said: ({ status, ms, reason }) => `${status ?? reason} after ${ms} ms`,
  ending: (sent) =>
    isAccepted(sent) ? undefined : { exitCode: 1, line: 'the endpoint did not accept it' },
});

export const trigger = recordedOperation({
  name: 'webhook trigger',
  summary: 'sends a sample payload immediately and once, in test mode',
  members: {
    type: help(z.enum(WEBHOOK_TYPES, `takes one of ${WEBHOOK_TYPES.join(', ')}`), 'its type'),
    endpointUrl: given(endpointUrl.optional(), {
      option: 'endpoint',
      placeholder: 'url',
      help: 'to this endpoint alone; default: all that receive the type',
    }),
    forwardTo: given(forwardTo, {
      only: 'cli',
      placeholder: 'url',
      help: 'to a receiver on this machine instead',
    }),
    mode: testMode,
  },
  positions: ['type'],
  rules: [
    {
      check: ({ endpointUrl: to, forwardTo: receiver }) =>
        to !== undefined && receiver !== undefined
          ? '{endpointUrl} and {forwardTo} exclude each other'
          : undefined,
    },
  ],
  roles: ['support'],
  isLong: true,
  route: post('webhooks/{tenant}/trigger', 'ENDPOINT_NOT_FOUND'),
  examples: [
    'webhook trigger acme reward.created',
    'webhook trigger acme user.created --forward-to http://127.0.0.1:4000/hooks',
  ],
  record: async (context, { type, endpointUrl: to, forwardTo: receiver }) => {
    const done = { parameters: { type }, completed: 'a sample was sent' };
    if (receiver !== undefined)
      return { ...done, result: [await forwarded(context, type, receiver)] };
    const endpoints = await endpointsFor(context, type, to);
    const sample = type === 'test' ? undefined : await sampleData(type);
    const sent = await sentTo(context, endpoints, ({ endpointUrl: url, name }) => ({
      type,
      data: sample ?? testData(url, name),
    }));
    return { ...done, result: sent.map(({ id: _, ...answer }) => answer) };
  },
  columns: [
    ['url', 'endpointUrl'],
    ['answer', ({ status, reason }) => status ?? reason],
    ['ms', 'ms', 'amount'],
  ],
  ending: (sent) =>
    sent.every(isAccepted)
      ? undefined
      : { exitCode: 1, line: 'not every endpoint accepted the sample' },
});

/** @param to undefined: all that receive the type. */
async function endpointsFor(
  context: ScopedContext,
  type: WebhookType,
  to: string | undefined,
): Promise<readonly Subscription[]> {
  if (to !== undefined) return [await enabled(context.core, context.scope, to)];
  const all = await context.core.webhooks.list(context.scope);
  const receiving = all.filter(
    ({ disabled, eventTypes }) => disabled === null && eventTypes?.includes(type) !== false,
  );
  if (receiving.length > 0) return receiving;
  throw notDone(`no enabled endpoint of ${modeOf(context.scope.mode)} mode receives ${type}`);
}

async function sentTo(
  { core, payments, scope }: SendingContext,
  endpoints: readonly Subscription[],
  webhookFor: (endpoint: Subscription) => Omit<EventlessWebhook, 'created'>,
) {
  const { pool, webhookAnswers: answers } = core;
  const keys = new SigningKeys(pool, core.webhookKeysSealer);
  const parts = { pool, guard: await payments.guard(), keys, answers };
  const created = await core.tenants.now(scope);
  return Promise.all(
    endpoints.map(async (endpoint) => ({
      endpointUrl: endpoint.endpointUrl,
      ...(await sendOnce(parts, scope, endpoint, { ...webhookFor(endpoint), created })),
    })),
  );
}

async function forwarded(
  { core, scope, signal, note }: ScopedContext,
  type: WebhookType,
  to: string,
) {
  const keys = new SigningKeys(core.pool, core.webhookKeysSealer);
  const forwarder = new WebhookForwarder(to, keys);
  note(`forwarding to ${to}, with the secret ${forwarder.secret}`);
  const data = type === 'test' ? testData(to, null) : await sampleData(type);
  try {
    const { tenant: tenantAlias, mode } = scope;
    const created = await core.tenants.now(scope);
    const of = { id: newId(), tenantAlias, live: mode === 'live', created };
    const posted = await forwarder.forward({ ...of, type, data }, signal, sampleHeaders(type));
    const isAnswered = posted.kind === 'answered';
    return {
      endpointUrl: to,
      status: isAnswered ? posted.status : null,
      ms: Math.round(posted.ms),
      reason: isAnswered ? null : posted.reason,
    };
  } finally {
    await forwarder.close();
  }
}
