import { sql } from 'kysely';
import type { Pool } from 'pg';
import { scopeOfMode, type Scope } from '../../domain/scope.js';
import { newId, timeNow } from '../../foundation/world.js';
import { run } from '../../postgres/statements.js';
import { sampleHeaders } from '../payloads/sample-data.js';
import type { WebhookType } from '../payloads/announced.js';
import type { EndpointGuard } from '../sending/endpoint-guard.js';
import { WebhookPost } from '../sending/webhook-post.js';
import { signedWebhook, webhookBody } from '../signing/signed-webhook.js';
import type { SigningKeys } from '../signing/signing-keys.js';
import type { Subscription } from '../subscriptions/webhook-subscriptions.js';
import { attemptOf, outcomeOf, type Attempt } from './ended-claims.js';
import type { ReceiverAnswers } from './receiver-answers.js';

export interface SendOnceParts {
  readonly pool: Pool;
  readonly guard: EndpointGuard;
  readonly keys: Pick<SigningKeys, 'current'>;
  readonly answers: Pick<ReceiverAnswers, 'seal'>;
}

/** A webhook without an event of the log. */
export interface EventlessWebhook {
  readonly type: WebhookType;
  readonly data: Readonly<Record<string, unknown>>;
  /** Epoch milliseconds by the ledger's clock. */
  readonly created: number;
}

export type SendResult = Pick<Attempt, 'status' | 'ms' | 'reason'>;

/**
 * Sends a webhook once, immediately, whatever types the endpoint receives, and stores it as a
 * delivery with its attempt. @returns also the delivery's id.
 */
export async function sendOnce(
  { pool, guard, keys, answers }: SendOnceParts,
  scope: Scope,
  subscription: Subscription,
  { type, data, created }: EventlessWebhook,
): Promise<SendResult & { readonly id: string }> {
  const { tenant, mode } = scopeOfMode(scope);
  const [id, webhookId] = [newId(), newId()];
  const at = new Date(timeNow());
  const live = mode === 'live';
  const body = webhookBody({ id: webhookId, type, tenantAlias: tenant, live, created, data });
  const signed = await signedWebhook(body, subscription, await keys.current());
  const headers = { ...signed.headers, ...sampleHeaders(type) };
  const post = new WebhookPost(guard);
  const posted = await post
    .post({ url: subscription.endpointUrl, headers, body: signed.body })
    .finally(() => post.close());
  const { ms, status, reason, beginning } = await attemptOf(posted, answers, id, []);
  const { endpointId, subscribedAt } = subscription;
  const subject = JSON.stringify({ subscribedAt: String(subscribedAt) });
  const state = outcomeOf(status) === 'delivered' ? 'DELIVERED' : 'DEAD';
  await run(
    pool,
    sql`
      with put as (
        insert into ledger.webhook_deliveries (
          id, tenant, mode, endpoint_id, webhook_id, type, subject, created, state, attempts, ended_at
        ) values (
          ${id}, ${tenant}, ${mode}, ${endpointId}, ${webhookId}, ${type}, ${subject}::jsonb, ${at},
          ${state}, 1, now()
        ) returning id
      )
      insert into ledger.webhook_attempts (
        delivery_id, number, at, status, reason, ms, beginning, people
      ) select id, 1, ${at}, ${status}::integer, ${reason}, ${ms}, ${beginning}::bytea, '{}'
      from put`,
  );
  return { id, status, ms, reason };
}
