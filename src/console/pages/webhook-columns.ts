import type { PostFailure } from '../../webhooks/sending/post-failure.js';
import type { DeliverySort, DeliveryState } from '../../webhooks/deliveries/shown-deliveries.js';
import type {
  EndpointToChange,
  ShownDelivery,
} from '../../operations/webhooks/webhook-commands.js';
import { buttonCell, countCell, idCell, stateCell, textCell, timeCell } from '../view/cells.js';
import type { TableColumn } from '../view/table.js';

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

const ENDPOINT_WORDS = { ACTIVE: 'Active', FAILING: 'Failing', DISABLED: 'Disabled' } as const;
export const endpointWords = (state: string): string =>
  ENDPOINT_WORDS[state as keyof typeof ENDPOINT_WORDS];

export const endpointColumns: readonly TableColumn<EndpointToChange>[] = [
  {
    key: 'endpoint',
    label: 'Endpoint',
    cell: ({ endpointUrl, name }) => textCell(endpointUrl, { note: name }),
  },
  { key: 'state', label: 'State', cell: ({ state }) => stateCell(endpointWords(state)) },
  {
    key: 'types',
    label: 'Event types',
    cell: ({ eventTypes }) => textCell(eventTypes?.join(', ') ?? 'All'),
    isMinor: true,
  },
  { key: 'waiting', label: 'Retrying', cell: ({ waiting }) => countCell(waiting), isMinor: true },
  { key: 'failed', label: 'Failed', cell: ({ dead }) => countCell(dead) },
  {
    key: 'lastFailure',
    label: 'Last failure',
    cell: ({ lastFailure }) => textCell(failureText(lastFailure)),
    isMinor: true,
  },
  {
    key: 'lastSuccess',
    label: 'Last success',
    cell: ({ lastSuccess }) => timeCell(lastSuccess),
    isMinor: true,
  },
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
    {
      key: 'type',
      label: 'Event type',
      cell: ({ id, type, endpointUrl }) =>
        textCell(type, { path: `${path}/${id}`, note: endpointUrl ?? 'Removed endpoint' }),
    },
    { key: 'state', label: 'State', cell: ({ state }) => stateCell(deliveryWords(state)) },
    {
      key: 'endpoint',
      label: 'Endpoint',
      cell: ({ endpointUrl }) => textCell(endpointUrl ?? 'Removed endpoint'),
      sorts: false,
      isFileOnly: true,
    },
    {
      key: 'attempts',
      label: 'Attempts',
      cell: ({ attempts }) => countCell(attempts),
      isMinor: true,
    },
    {
      key: 'next',
      label: 'Next attempt',
      cell: ({ nextAttemptAt }) => timeCell(nextAttemptAt),
      sorts: false,
      isMinor: true,
    },
    { key: 'created', label: 'Created', cell: ({ created }) => timeCell(created) },
    {
      key: 'id',
      label: 'Delivery',
      cell: ({ id }) => idCell(id, `${path}/${id}`),
      sorts: false,
      isMinor: true,
    },
    {
      key: 'resend',
      label: '',
      cell: (row) => resendCell(row, key),
      sorts: false,
      isPageOnly: true,
    },
  ];
  // Those of other keys sort nothing.
  return columns as readonly TableColumn<ShownDelivery, DeliverySort>[];
};
