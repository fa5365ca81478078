import { only, type Decision } from '../decision.js';
import type { Ask, Fact } from '../fact.js';
import { refused } from '../refusal.js';
import type { Mode } from '../scope.js';
import { retire, type Retirable } from './tenant-secrets.js';

/** The endpoints of a tenant's developers, and their secrets: part of the tenant's stream. */

/** Of a tenant and mode, disabled ones included. */
export const ENDPOINTS_MAX = 50;
/** Of an endpoint: each signs every delivery. One more ends the oldest at once. */
export const SECRETS_MAX = 5;

/** Why an endpoint gets no deliveries: it answered 410, or an operator disabled it. */
export type DisabledBecause = 'GONE' | 'OPERATOR';

/** The secret of an endpoint, encrypted. */
export interface EndpointSecret {
  readonly secretId: string;
  readonly sealed: string;
}

/** An endpoint is named by a keyed hash of its URL: one subscription a URL. */
interface Named {
  mode: Mode;
  endpointId: string;
}

export type WebhookEvent =
  /**
   * Also for a new name, and to enable it again. URL and name, encrypted, and a keyed digest of
   * both.
   */
  | Fact<'WebhookSubscribed', Named & { sealed: string; digest: string }>
  | Fact<'WebhookSecretIssued', Named & EndpointSecret>
  /** From `validUntil` on nothing is signed with it. */
  | Fact<'WebhookSecretRetired', Named & { secretId: string; validUntil: number }>
  | Fact<'WebhookDisabled', Named & { because: DisabledBecause }>
  | Fact<'WebhookEnabled' | 'WebhookUnsubscribed', Named>;

export interface WebhookEndpoint {
  readonly endpointId: string;
  readonly mode: Mode;
  readonly sealed: string;
  readonly digest: string;
  readonly subscribedAt: number;
  /** When it was subscribed, under whatever name, or enabled last. */
  readonly activeSince: number;
  /** Null: it is sent what happens. */
  readonly disabled: { readonly at: number; readonly because: DisabledBecause } | null;
  /** Oldest first. */
  readonly secrets: readonly (EndpointSecret & Retirable)[];
}

export type WebhookCommand =
  /** `secret`: for an endpoint that is new. */
  | Ask<'SubscribeWebhook', Named & { sealed: string; digest: string; secret: EndpointSecret }>
  | Ask<
      'RotateWebhookSecret',
      Named & {
        secret: EndpointSecret;
        /** How long the present one signs as well. */
        graceMs: number;
        /** Refused when another one is the newest by now. Undefined: whichever it is. */
        seen?: string | undefined;
      }
    >
  /** `activeSince`: of the endpoint that is meant; one that began again since stays. */
  | Ask<'DisableWebhook', Named & { activeSince: number; because: DisabledBecause }>
  | Ask<'EnableWebhook' | 'UnsubscribeWebhook', Named>;

type Endpoints = readonly WebhookEndpoint[];

const isOf =
  ({ mode, endpointId }: Named) =>
  (endpoint: WebhookEndpoint): boolean =>
    endpoint.mode === mode && endpoint.endpointId === endpointId;

const changed = (
  endpoints: Endpoints,
  of: Named,
  change: (endpoint: WebhookEndpoint) => Partial<WebhookEndpoint>,
): Endpoints =>
  endpoints.map((endpoint) =>
    isOf(of)(endpoint) ? { ...endpoint, ...change(endpoint) } : endpoint,
  );

export function evolveEndpoints(endpoints: Endpoints, event: WebhookEvent): Endpoints {
  switch (event.type) {
    case 'WebhookSubscribed': {
      const { endpointId, mode, sealed, digest, at } = event;
      const content = { sealed, digest, disabled: null, activeSince: at };
      return endpoints.some(isOf(event))
        ? changed(endpoints, event, () => content)
        : [...endpoints, { endpointId, mode, ...content, subscribedAt: at, secrets: [] }];
    }
    case 'WebhookSecretIssued': {
      const { secretId, sealed } = event;
      return changed(endpoints, event, ({ secrets }) => ({
        secrets: [
          ...secrets.filter(({ validUntil }) => validUntil === null || validUntil > event.at),
          { secretId, sealed, validUntil: null },
        ],
      }));
    }
    case 'WebhookSecretRetired':
      return changed(endpoints, event, ({ secrets }) => ({
        secrets: secrets.map((secret) =>
          secret.secretId === event.secretId ? { ...secret, validUntil: event.validUntil } : secret,
        ),
      }));
    case 'WebhookDisabled':
      return changed(endpoints, event, () => ({
        disabled: { at: event.at, because: event.because },
      }));
    case 'WebhookEnabled':
      return changed(endpoints, event, () => ({ disabled: null, activeSince: event.at }));
    case 'WebhookUnsubscribed':
      return endpoints.filter((endpoint) => !isOf(event)(endpoint));
  }
}

export function decideOnEndpoint(
  endpoints: Endpoints,
  command: WebhookCommand,
): Decision<WebhookEvent> {
  const { mode, endpointId, now: at } = command;
  const of = { at, mode, endpointId };
  const known = endpoints.find(isOf(of));
  if (command.type === 'SubscribeWebhook') return subscribed(endpoints, known, command);
  if (known === undefined) return refused('SUBSCRIPTION_NOT_FOUND');
  switch (command.type) {
    case 'RotateWebhookSecret':
      if (command.seen !== undefined && known.secrets.at(-1)?.secretId !== command.seen)
        return refused(
          'CHANGED_MEANWHILE',
          'another call has rotated the secret of this endpoint meanwhile: read it first',
        );
      return {
        events: [
          { type: 'WebhookSecretIssued', ...of, ...command.secret },
          ...ends(known, at, at + command.graceMs).map((end): WebhookEvent => ({
            type: 'WebhookSecretRetired',
            ...of,
            ...end,
          })),
        ],
      };
    case 'DisableWebhook':
      return only(known.disabled === null && known.activeSince === command.activeSince, {
        type: 'WebhookDisabled',
        ...of,
        because: command.because,
      });
    case 'EnableWebhook':
      return only(known.disabled !== null, { type: 'WebhookEnabled', ...of });
    case 'UnsubscribeWebhook':
      return { events: [{ type: 'WebhookUnsubscribed', ...of }] };
  }
}

/**
 * When the secrets of an endpoint end that gets a further one, oldest first; without those whose
 * end stays.
 */
function ends({ mode, secrets }: WebhookEndpoint, at: number, graceEnd: number) {
  const signing = secrets.filter(({ validUntil }) => validUntil === null || validUntil > at);
  const tooMany = signing.slice(0, Math.max(0, signing.length + 1 - SECRETS_MAX));
  const others = signing.slice(tooMany.length).map((secret) => ({ ...secret, mode }));
  return [
    ...tooMany.map(({ secretId }) => ({ secretId, validUntil: at })),
    ...retire(others, [{ mode }], graceEnd).map(({ secretId }) => ({
      secretId,
      validUntil: graceEnd,
    })),
  ];
}

/** The same URL and name once more records nothing. */
function subscribed(
  endpoints: Endpoints,
  known: WebhookEndpoint | undefined,
  command: Extract<WebhookCommand, { type: 'SubscribeWebhook' }>,
): Decision<WebhookEvent> {
  const { mode, endpointId, sealed, digest, secret, now: at } = command;
  const of = { at, mode, endpointId };
  const subscription: WebhookEvent = { type: 'WebhookSubscribed', ...of, sealed, digest };
  if (known !== undefined)
    return only(known.disabled !== null || known.digest !== digest, subscription);
  if (endpoints.filter((endpoint) => endpoint.mode === mode).length >= ENDPOINTS_MAX)
    return refused(
      'TOO_MANY_ENDPOINTS',
      `there are ${ENDPOINTS_MAX} subscriptions, the most of a mode: delete one first`,
    );
  return { events: [subscription, { type: 'WebhookSecretIssued', ...of, ...secret }] };
}
