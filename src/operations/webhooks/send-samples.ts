import { modeOf } from '../../domain/scope.js';
import { newId } from '../../foundation/world.js';
import {
  sendOnce,
  type EventlessWebhook,
  type SendResult,
} from '../../webhooks/deliveries/send-once.js';
import type { WebhookType } from '../../webhooks/payloads/announced.js';
import { testData } from '../../webhooks/payloads/presented.js';
import { sampleData, sampleHeaders } from '../../webhooks/payloads/sample-data.js';
import { WebhookForwarder } from '../../webhooks/sending/webhook-forwarder.js';
import { SigningKeys } from '../../webhooks/signing/signing-keys.js';
import type { Subscription } from '../../webhooks/subscriptions/webhook-subscriptions.js';
import type { Done } from '../audited.js';
import { notDone } from '../outcome.js';
import type { ScopedContext } from '../registry/context.js';
import { enabled } from './webhook-commands.js';

export const isAccepted = ({ status }: SendResult): boolean =>
  status !== null && status >= 200 && status <= 299;

type SendingContext = Pick<ScopedContext, 'core' | 'payments' | 'scope'>;

/** Sends a test event to an endpoint, whatever types it receives. @returns its delivery. */
export async function sendTest(
  context: SendingContext,
  endpointUrl: string,
): Promise<Done<SendResult & { readonly id: string }>> {
  const endpoint = await enabled(context.core, context.scope, endpointUrl);
  const data = testData(endpoint.endpointUrl, endpoint.name);
  const [result] = await sentTo(context, [endpoint], () => ({ type: 'test', data }));
  if (result === undefined) throw new Error('a test has no answer');
  return { result, parameters: {}, completed: 'a test event was sent' };
}

/** As `sendTest`. @returns the answer alone. */
export async function testEndpoint(
  context: SendingContext,
  endpointUrl: string,
): Promise<Done<SendResult>> {
  const { result, ...done } = await sendTest(context, endpointUrl);
  const { status, ms, reason } = result;
  return { ...done, result: { status, ms, reason } };
}

interface SampleRequest {
  readonly type: WebhookType;
  /** Undefined: every endpoint that receives the type. */
  readonly endpointUrl?: string | undefined;
  /** A URL of this machine, instead of endpoints. */
  readonly forwardTo?: string | undefined;
}

/** Sends a sample payload of a type. */
export async function sendSample(context: ScopedContext, request: SampleRequest) {
  const { type, forwardTo } = request;
  const parameters = { type };
  const completed = 'a sample was sent';
  if (forwardTo !== undefined)
    return { result: [await forwarded(context, type, forwardTo)], parameters, completed };
  const endpoints = await endpointsFor(context, request);
  const sample = type === 'test' ? undefined : await sampleData(type);
  const sent = await sentTo(context, endpoints, ({ endpointUrl, name }) => ({
    type,
    data: sample ?? testData(endpointUrl, name),
  }));
  const result = sent.map(({ id: _, ...answer }) => answer);
  return { result, parameters, completed };
}

async function endpointsFor(
  context: ScopedContext,
  { type, endpointUrl }: SampleRequest,
): Promise<readonly Subscription[]> {
  if (endpointUrl !== undefined) return [await enabled(context.core, context.scope, endpointUrl)];
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
  endpointUrl: string,
) {
  const keys = new SigningKeys(core.pool, core.webhookKeysSealer);
  const forwarder = new WebhookForwarder(endpointUrl, keys);
  note(`forwarding to ${endpointUrl}, with the secret ${forwarder.secret}`);
  const data = type === 'test' ? testData(endpointUrl, null) : await sampleData(type);
  try {
    const { tenant: tenantAlias, mode } = scope;
    const created = await core.tenants.now(scope);
    const of = { id: newId(), tenantAlias, live: mode === 'live', created };
    const posted = await forwarder.forward({ ...of, type, data }, signal, sampleHeaders(type));
    const isAnswered = posted.kind === 'answered';
    return {
      endpointUrl,
      status: isAnswered ? posted.status : null,
      ms: Math.round(posted.ms),
      reason: isAnswered ? null : posted.reason,
    };
  } finally {
    await forwarder.close();
  }
}
