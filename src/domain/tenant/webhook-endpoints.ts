import { eventsIf, type Decision } from '../decision.js';
import type { Command, Fact } from '../fact.js';
import { refused } from '../refusal.js';
import type { Mode } from '../scope.js';
import { retire, type Retirable } from './tenant-secrets.js';

/** Of a tenant and mode, disabled ones included. */
export const ENDPOINTS_MAX = 50;
/** Each signs every delivery. One more ends the oldest immediately. */
export const SECRETS_MAX = 5;

/** `GONE`: the endpoint answered 410. */
export type DisabledBecause = 'GONE' | 'OPERATOR';

export interface EndpointSecret {
  readonly secretId: string;
  readonly sealed: string;
}

/** Keyed hash of the URL, which has one subscription. */
interface EndpointRef {
  mode: Mode;
  endpointId: string;
}

export type WebhookEvent =
  /** Also sets a new name or enables again. `digest`: of the sealed URL and name. */
  | Fact<'WebhookSubscribed', EndpointRef & { sealed: string; digest: string }>
  | Fact<'WebhookSecretIssued', EndpointRef & EndpointSecret>
  /** From `validUntil` on nothing is signed with it. */
  | Fact<'WebhookSecretRetired', EndpointRef & { secretId: string; validUntil: number }>
  | Fact<'WebhookDisabled', EndpointRef & { because: DisabledBecause }>
  | Fact<'WebhookEnabled' | 'WebhookUnsubscribed', EndpointRef>;

export interface WebhookEndpoint {
  readonly endpointId: string;
  readonly mode: Mode;
  readonly sealed: string;
  readonly digest: string;
  readonly subscribedAt: number;
  /** The last subscription or enabling, under any name. */
  readonly activeSince: number;
  /** Null: receives deliveries. */
  readonly disabled: { readonly at: number; readonly because: DisabledBecause } | null;
  /** Oldest first. */
  readonly secrets: readonly (EndpointSecret & Retirable)[];
}

export type WebhookCommand =
  /** `secret`: for a new endpoint. */
  | Command<
      'SubscribeWebhook',
      EndpointRef & { sealed: string; digest: string; secret: EndpointSecret }
    >
  | Command<
      'RotateWebhookSecret',
      EndpointRef & {
        secret: EndpointSecret;
        /** How long the present secret signs as well. */
        graceMs: number;
        /** Refused when another secret is the newest; undefined: not compared. */
        seen?: string | undefined;
      }
    >
  /** `activeSince`: of the endpoint meant; a restarted one stays enabled. */
  | Command<'DisableWebhook', EndpointRef & { activeSince: number; because: DisabledBecause }>
  | Command<'EnableWebhook' | 'UnsubscribeWebhook', EndpointRef>;

type Endpoints = readonly WebhookEndpoint[];

const isEndpoint =
  ({ mode, endpointId }: EndpointRef) =>
  (endpoint: WebhookEndpoint): boolean =>
    endpoint.mode === mode && endpoint.endpointId === endpointId;

const changed = (
  endpoints: Endpoints,
  of: EndpointRef,
  change: (endpoint: WebhookEndpoint) => Partial<WebhookEndpoint>,
): Endpoints =>
  endpoints.map((endpoint) =>
    isEndpoint(of)(endpoint) ? { ...endpoint, ...change(endpoint) } : endpoint,
  );

export function evolveEndpoints(endpoints: Endpoints, event: WebhookEvent): Endpoints {
  switch (event.type) {
    case 'WebhookSubscribed': {
      const { endpointId, mode, sealed, digest, at } = event;
      const content = { sealed, digest, disabled: null, activeSince: at };
      return endpoints.some(isEndpoint(event))
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
      return endpoints.filter((endpoint) => !isEndpoint(event)(endpoint));
  }
}

export function decideOnEndpoint(
  endpoints: Endpoints,
  command: WebhookCommand,
): Decision<WebhookEvent> {
  const { mode, endpointId, now: at } = command;
  const of = { at, mode, endpointId };
  const known = endpoints.find(isEndpoint(of));
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
          ...secretEnds(known, at, at + command.graceMs).map((end): WebhookEvent => ({
            type: 'WebhookSecretRetired',
            ...of,
            ...end,
          })),
        ],
      };
    case 'DisableWebhook':
      return eventsIf(known.disabled === null && known.activeSince === command.activeSince, {
        type: 'WebhookDisabled',
        ...of,
        because: command.because,
      });
    case 'EnableWebhook':
      return eventsIf(known.disabled !== null, { type: 'WebhookEnabled', ...of });
    case 'UnsubscribeWebhook':
      return { events: [{ type: 'WebhookUnsubscribed', ...of }] };
  }
}

/** New ends of an endpoint's secrets when it gets another one, oldest first. */
function secretEnds({ mode, secrets }: WebhookEndpoint, at: number, graceEnd: number) {
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

/** An equal URL and name record nothing. */
function subscribed(
  endpoints: Endpoints,
  known: WebhookEndpoint | undefined,
  command: Extract<WebhookCommand, { type: 'SubscribeWebhook' }>,
): Decision<WebhookEvent> {
  const { mode, endpointId, sealed, digest, secret, now: at } = command;
  const of = { at, mode, endpointId };
  const subscription: WebhookEvent = { type: 'WebhookSubscribed', ...of, sealed, digest };
  if (known !== undefined)
    return eventsIf(known.disabled !== null || known.digest !== digest, subscription);
  if (endpoints.filter((endpoint) => endpoint.mode === mode).length >= ENDPOINTS_MAX)
    return refused(
      'TOO_MANY_ENDPOINTS',
      `there are ${ENDPOINTS_MAX} subscriptions, the most of a mode: delete one first`,
    );
  return { events: [subscription, { type: 'WebhookSecretIssued', ...of, ...secret }] };
}
