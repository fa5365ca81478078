import type { PostFailure } from '../../webhooks/sending/post-failure.js';
import type { DeliveryState } from '../../webhooks/deliveries/shown-deliveries.js';
import type { DeliverySort } from '../../work-queue/listed-deliveries.js';
import type { ShownDelivery } from '../../operations/webhooks/deliveries.js';
import type { EndpointToChange } from '../../operations/webhooks/endpoints.js';
import { buttonCell, countCell, idCell, stateCell, textCell, timeCell } from '../view/cells.js';
import { column, type TableColumn } from '../view/table.js';
import { capital } from '../view/templates.js';

const DELIVERY_WORDS: Readonly<Record<DeliveryState, string>> = {
  PENDING: 'Retrying',
  DELIVERED: 'Delivered',
  DEAD: 'Failed',
};
export const deliveryWords = (state: DeliveryState): string => DELIVERY_WORDS[state];

/** The states of deliveries as a filter has them. */
export const DELIVERY_CHOICES = Object.entries(DELIVERY_WORDS).map(([value, words]) => ({
  value,
  words,
}));

const FAILURE_WORDS: Readonly<Record<PostFailure, string>> = {
  'address-not-allowed': 'its address is not public',
  'name-not-found': 'its name has no address',
  'name-server': 'the name servers of its name do not answer',
  refused: 'no server listens at its address',
  unreachable: 'its address cannot be reached',
  tls: 'its certificate is not trusted, or the encryption broke',
  timeout: 'the answer did not end within 15 seconds',
  'broken-off': 'the connection was closed before the answer ended',
  'not-http': 'the answer is not HTTP',
  stopped: 'this service was stopped',
};
/** Why an attempt has no answer. */
export const failureWords = (reason: string | null): string | null =>
  new Map<string, string>(Object.entries(FAILURE_WORDS)).get(reason ?? '') ?? reason;

/** `answered 500`, or why there was no answer. */
const failureText = (failure: string | null): string | null =>
  failure !== null && /^\d+$/.test(failure) ? `answered ${failure}` : failureWords(failure);

export const endpointColumns: readonly TableColumn<EndpointToChange>[] = [
  column('endpoint', ({ endpointUrl, name }) => textCell(endpointUrl, { note: name })),
  column('state', ({ state }) => stateCell(capital(state.toLowerCase()))),
  column(['types', 'Event types', 'minor'], ({ eventTypes }) =>
    textCell(eventTypes?.join(', ') ?? 'All'),
  ),
  column(['waiting', 'Retrying', 'minor'], ({ waiting }) => countCell(waiting)),
  column('failed', ({ dead }) => countCell(dead)),
  column(['lastFailure', 'minor'], ({ lastFailure }) => textCell(failureText(lastFailure))),
  column(['lastSuccess', 'minor'], ({ lastSuccess }) => timeCell(lastSuccess)),
];

/** None for a delivery whose endpoint is removed. */
const resendCell = ({ id, endpointUrl }: ShownDelivery, key: string) => {
  const button = { action: 'resend', label: 'Resend', about: id, name: 'delivery', value: id };
  return buttonCell(endpointUrl === null ? undefined : { ...button, key: `${key}-${id}` });
};

/** @param path of the webhooks. @param key of the page's forms. */
export const deliveryColumns = (
  path: string,
  key: string,
): readonly TableColumn<ShownDelivery, DeliverySort>[] => {
  const columns: readonly TableColumn<ShownDelivery>[] = [
    column(['type', 'Event type'], ({ id, type, endpointUrl }) =>
      textCell(type, { path: `${path}/${id}`, note: endpointUrl ?? 'Removed endpoint' }),
    ),
    column('state', ({ state }) => stateCell(deliveryWords(state))),
    column(['endpoint', 'unsorted', 'file'], ({ endpointUrl }) =>
      textCell(endpointUrl ?? 'Removed endpoint'),
    ),
    column(['attempts', 'minor'], ({ attempts }) => countCell(attempts)),
    column(['next', 'Next attempt', 'unsorted', 'minor'], ({ nextAttemptAt }) =>
      timeCell(nextAttemptAt),
    ),
    column('created', ({ created }) => timeCell(created)),
    column(['id', 'Delivery', 'unsorted', 'minor'], ({ id }) => idCell(id, `${path}/${id}`)),
    column(['resend', '', 'unsorted', 'page'], (row) => resendCell(row, key)),
  ];
  // Those of other keys sort nothing.
  return columns as readonly TableColumn<ShownDelivery, DeliverySort>[];
};
