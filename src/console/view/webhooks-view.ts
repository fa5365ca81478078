import type { PostFailure } from '../../webhooks/sending/post-failure.js';
import type { DeliveryState } from '../../webhooks/deliveries/shown-deliveries.js';
import type { DeliverySort } from '../../work-queue/listed-deliveries.js';
import type { showDelivery, ShownDelivery } from '../../operations/webhooks/deliveries.js';
import type { EndpointToChange } from '../../operations/webhooks/endpoints.js';
import { buttonCell, countCell, idCell, stateCell, textCell, timeCell } from './cells.js';
import { column, partOf, type TableColumn, tableState, tableView } from './table.js';
import { capital } from './templates.js';
import { WEBHOOK_TYPES } from '../../webhooks/payloads/announced.js';
import { queryOf } from '../pages/tenant-pages.js';
import type { Form } from '../sessions/form.js';
import type { FieldNames } from './faults.js';
import { stateView } from './states.js';

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
  'name-not-found': 'its host name was not found',
  'name-server': 'the name servers of its host do not answer',
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
): readonly TableColumn<ShownDelivery, DeliverySort>[] => [
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

/** As typed into the form that adds an endpoint, or into one of an endpoint. */
export type TypedEndpoint = ReturnType<typeof typedEndpoint>;

export const typedEndpoint = (form: Pick<Form, 'text' | 'all'>) => ({
  action: form.text('action'),
  endpoint: form.text('endpoint'),
  name: form.text('name'),
  types: form.all('types'),
  since: form.text('since'),
  grace: form.text('grace'),
  delivery: form.text('delivery'),
});

const NOTHING_TYPED = typedEndpoint({ text: () => '', all: () => [] });

/** Where a fault of a form belongs. @param key of the endpoint. */
export const fieldsOf = (typed: TypedEndpoint | undefined, key: string): FieldNames =>
  typed?.action === 'add'
    ? { endpoint: 'url', 'the endpoint ': 'url', 'the name ': 'name' }
    : { since: `since-${key}`, confirmed: `confirmed-${key}` };

const GRACES = [
  { value: '24h', words: '24 hours' },
  { value: '7d', words: '7 days' },
  { value: '1h', words: '1 hour' },
  { value: '0', words: 'None' },
];

/** A box for each type of event. */
const boxesOf = (prefix: string, ticked: readonly string[]) =>
  WEBHOOK_TYPES.map((type) => ({ type, id: `${prefix}-${type}`, isOn: ticked.includes(type) }));

const ALL = { page: 1, size: 10_000 } as const;
const BY_URL = { sort: 'endpoint', descending: false } as const;

interface EndpointsAsked {
  /** Of the page. */
  readonly path: string;
  readonly by: string;
  readonly dir: string;
  /** An id for HTML. */
  readonly keyOf: (url: string) => string;
  readonly typed: TypedEndpoint | undefined;
}

/** The table of the endpoints with their forms, and the form that adds one. */
export function endpointsView(
  endpoints: readonly EndpointToChange[],
  { path, by, dir, keyOf, typed = NOTHING_TYPED }: EndpointsAsked,
) {
  const order = { ...tableState({ sort: by, dir }, endpointColumns, BY_URL), ...ALL };
  const sorted = partOf(endpoints, endpointColumns, order);
  const table = tableView(sorted, endpointColumns, order, {
    label: 'Endpoints',
    empty: { text: 'No endpoint receives events yet. Add one above, or by POST /subscription.' },
    pathWith: ({ sort = '', dir: to = '' }) => path + queryOf({ by: sort, dir: to }),
    filePath: `${path}?endpoints=csv`,
  });
  const isAdding = typed.action === 'add';
  return {
    table,
    endpoints: sorted.rows.map((one, index) => {
      const key = keyOf(one.endpointUrl);
      const isTyped = !isAdding && typed.endpoint === one.endpointUrl;
      return {
        ...one,
        key,
        cells: table.rows[index]?.cells ?? [],
        isDisabled: one.state === 'DISABLED',
        opened: isTyped ? typed.action : '',
        since: isTyped ? typed.since : '',
        boxes: boxesOf(
          key,
          isTyped && typed.action === 'types' ? typed.types : (one.eventTypes ?? []),
        ),
      };
    }),
    columnCount: endpointColumns.length,
    graces: GRACES,
    grace: typed.grace,
    typed: isAdding ? typed : NOTHING_TYPED,
    isAdding: isAdding || endpoints.length === 0,
    boxes: boxesOf('types', isAdding ? typed.types : []),
  };
}

/** What came of a test. */
export function testedView(delivery: Awaited<ReturnType<typeof showDelivery>>, path: string) {
  const attempt = delivery.attempts.at(-1);
  return {
    endpointUrl: delivery.endpointUrl,
    state: stateView(deliveryWords(delivery.state)),
    status: attempt?.status ?? null,
    reason: failureWords(attempt?.reason ?? null),
    ms: attempt?.ms ?? 0,
    answer: attempt?.answer ?? null,
    path: `${path}/${delivery.id}`,
  };
}
