import type { showDelivery } from '../../operations/webhooks/deliveries.js';
import type { EndpointToChange } from '../../operations/webhooks/endpoints.js';
import { WEBHOOK_TYPES } from '../../webhooks/payloads/announced.js';
import { deliveryWords, endpointColumns, failureWords } from '../pages/webhook-columns.js';
import { queryOf } from '../pages/tenant-pages.js';
import type { Form } from '../sessions/form.js';
import type { FieldNames } from './faults.js';
import { stateView } from './states.js';
import { partOf, tableState, tableView } from './table.js';

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
