import type { Core } from '../../stores/core.js';
import type { StaffMeta } from '../../operations/audit.js';
import type { Done } from '../../operations/audited.js';
import {
  addNewEndpoint,
  changeEndpointTypes,
  enableEndpoint,
  endpointsToChange,
  isIssuedSecret,
  queueEndpointTest,
  removeEndpoint,
  resendDeliveries,
  rotateEndpointSecret,
  showDeliveries,
  showDelivery,
  type EndpointToChange,
  type IssuedSecret,
  type ShownDelivery,
} from '../../operations/webhooks/webhook-commands.js';
import { TestDeliveries } from '../../webhooks/deliveries/test-deliveries.js';
import { WEBHOOK_TYPES } from '../../webhooks/payloads/announced.js';
import { EndpointGuard } from '../../webhooks/sending/endpoint-guard.js';
import { FormFor, PageFor, pageSent, redirected, TenantCall, TenantPage } from '../console-call.js';
import { faultsOf, NO_FAULTS, withFaults, type FieldNames } from '../view/faults.js';
import type { DoneKey } from '../view/layout.js';
import { inOrder, type AskedOrder, type Column } from '../view/sorting.js';
import { template } from '../view/templates.js';
import { ofThisTenant, queried, queryOf, TenantPages } from './tenant-pages.js';
import { TEXTS } from '../texts.js';
import { NotDone, type Outcome, outcomeOf } from '../../operations/outcome.js';

const SHOWN_MAX = 100;
const COLUMNS: readonly Column<ShownDelivery>[] = [
  { label: TEXTS.common.created, key: 'created', value: 'created' },
  { label: TEXTS.common.type, key: 'type', value: 'type' },
  { label: TEXTS.fields.endpoint, key: 'endpoint', value: 'endpointUrl' },
  { label: TEXTS.common.state, key: 'state', value: 'state' },
  { label: TEXTS.common.attempts, key: 'attempts', isNumber: true, value: 'attempts' },
  { label: TEXTS.common.nextAttempt, key: 'next', value: 'nextAttemptAt' },
  { label: TEXTS.webhooks.delivery },
  { label: TEXTS.common.resend },
];
const ENDPOINT_COLUMNS: readonly Column<EndpointToChange>[] = [
  { label: TEXTS.fields.endpoint, key: 'endpoints.url', value: 'endpointUrl' },
  { label: TEXTS.webhooks.types },
  { label: TEXTS.common.state, key: 'endpoints.state', value: 'state' },
  { label: TEXTS.webhooks.waiting, key: 'endpoints.waiting', isNumber: true, value: 'waiting' },
  { label: TEXTS.webhooks.dead, key: 'endpoints.dead', isNumber: true, value: 'dead' },
  { label: TEXTS.webhooks.lastSuccess, key: 'endpoints.success', value: 'lastSuccess' },
  { label: TEXTS.webhooks.actions },
];
const STATES = ['PENDING', 'DELIVERED', 'DEAD'] as const;

/** As typed into the form that adds an endpoint, or into that of one. */
interface Typed {
  readonly isAdding: boolean;
  readonly endpoint: string;
  readonly name: string;
  readonly types: readonly string[];
  readonly since: string;
}

const NOTHING_TYPED: Typed = { isAdding: true, endpoint: '', name: '', types: [], since: '' };

/** A box for each type of event. */
const boxesOf = (prefix: string, ticked: readonly string[]) =>
  WEBHOOK_TYPES.map((type) => ({
    type,
    id: `${prefix}-${type}`,
    isOn: ticked.includes(type),
  }));

const sinceIdOf = (endpointUrl: string): string => `since-${encodeURIComponent(endpointUrl)}`;

/** Where a fault of the form belongs. */
const fieldsOf = ({ isAdding, endpoint }: Typed): FieldNames =>
  isAdding
    ? { endpoint: 'url', 'the endpoint ': 'url', 'the name ': 'name' }
    : { since: sinceIdOf(endpoint) };

const endpointRow = (one: EndpointToChange, { isAdding, endpoint, since }: Typed) => ({
  ...one,
  sinceId: sinceIdOf(one.endpointUrl),
  sinceLabel: TEXTS.webhooks.sinceFor(one.endpointUrl),
  since: !isAdding && endpoint === one.endpointUrl ? since : '',
  shownTypes: one.eventTypes?.join(', ') ?? TEXTS.webhooks.allTypes,
  boxes: boxesOf(`types-${encodeURIComponent(one.endpointUrl)}`, one.eventTypes ?? []),
});

const content = template('webhooks');

/** For support: endpoints, deliveries and their attempts. */
@TenantPage('webhooks')
export class ConsoleWebhooksController {
  constructor(
    private readonly pages: TenantPages,
    private readonly guard: EndpointGuard,
    private readonly tests: TestDeliveries,
  ) {}

  @PageFor('support')
  page(@TenantCall() call: TenantCall): Promise<string> {
    return this.shown(call);
  }

  @FormFor('support')
  async act(@TenantCall() call: TenantCall): Promise<string> {
    const { form } = call;
    const typed = {
      isAdding: form.text('action') === 'add',
      endpoint: form.text('endpoint'),
      name: form.text('name'),
      types: form.all('types'),
      since: form.text('since'),
    };
    const outcome = await this.done(call);
    if (outcome instanceof NotDone)
      return this.shown(call, faultsOf(outcome, fieldsOf(typed)), typed);
    if (isIssuedSecret(outcome)) return this.shown(call, NO_FAULTS, NOTHING_TYPED, outcome);
    return redirected(
      call,
      `${call.tenantPath}/webhooks`,
      DONE_BY.get(form.text('action')) ?? 'resent',
    );
  }

  private done(call: TenantCall): Promise<Outcome<unknown>> {
    const { form, scope } = call;
    const endpoint = form.text('endpoint');
    const recorded = <T>(
      operation: string,
      work: (core: Core, meta: StaffMeta) => Promise<Done<T>>,
    ): Promise<Outcome<T>> => this.pages.recorded(call, `webhook ${operation}`, work);
    switch (form.text('action')) {
      case 'add':
        return recorded('subscribe', (core, meta) =>
          addNewEndpoint(core, this.guard, meta, {
            endpointUrl: endpoint,
            name: form.text('name') || undefined,
            types: form.all('types'),
          }),
        );
      case 'types':
        return recorded('change-types', (core, meta) =>
          changeEndpointTypes(core, meta, { endpoint, types: form.all('types') }),
        );
      case 'remove':
        return recorded('unsubscribe', (core, meta) => removeEndpoint(core, meta, endpoint));
      case 'test':
        return recorded('test', (core) => queueEndpointTest(core, scope, endpoint, this.tests));
      case 'rotate':
        return recorded('rotate-secret', (core, meta) =>
          rotateEndpointSecret(core, meta, {
            endpoint,
            grace: form.text('grace'),
            seen: form.text('seen') || undefined,
          }),
        );
      case 'enable':
        return recorded('enable', (core, meta) => enableEndpoint(core, meta, endpoint));
      case 'resend':
        return recorded('resend', (core) =>
          resendDeliveries(core, scope, { delivery: form.text('delivery') }),
        );
      default:
        return recorded('resend', (core) =>
          resendDeliveries(core, scope, { endpoint, since: form.text('since') }),
        );
    }
  }

  private async shown(
    call: TenantCall,
    faults = NO_FAULTS,
    typed = NOTHING_TYPED,
    issued: IssuedSecret | null = null,
  ): Promise<string> {
    const { core } = this.pages;
    const { delivery: id, ...asked } = queried(
      call.query,
      ...(['endpoint', 'state', 'type', 'since', 'delivery'] as const),
    );
    const order = queried(call.query, 'sort', 'dir');
    const state = STATES.find((one) => one === asked.state);
    const endpoints = await endpointsToChange(core, call.scope);
    const selection = {
      endpoint: asked.endpoint || undefined,
      type: asked.type || undefined,
      since: asked.since || undefined,
      state,
      limit: SHOWN_MAX,
    };
    const deliveries = await outcomeOf(() => showDeliveries(core, call.scope, selection));
    const delivery =
      id === '' ? null : ofThisTenant(await outcomeOf(() => showDelivery(core, call.scope, id)));
    const refused = withFaults(faults, withFaults(faultsOf(deliveries), faultsOf(delivery)));
    const found = deliveries instanceof NotDone ? [] : deliveries;
    const pathOf = (sorted: AskedOrder): string => queryOf({ ...asked, ...sorted });
    const { rows, heads } = inOrder(found, COLUMNS, order, pathOf);
    const sorted = inOrder(endpoints, ENDPOINT_COLUMNS, order, pathOf);
    return pageSent(call, { of: 'webhooks', faults: refused }, content, {
      endpoints: sorted.rows.map((one) => endpointRow(one, typed)),
      endpointHeads: sorted.heads,
      deliveries: rows,
      heads,
      asked,
      states: STATES,
      isCut: found.length === SHOWN_MAX,
      delivery: delivery instanceof NotDone ? null : delivery,
      issued,
      typed: typed.isAdding ? typed : NOTHING_TYPED,
      boxes: boxesOf('types', typed.isAdding ? typed.types : []),
    });
  }
}

const DONE_BY: ReadonlyMap<string, DoneKey> = new Map([
  ['remove', 'removed'],
  ['types', 'typesSaved'],
  ['test', 'tested'],
  ['enable', 'enabled'],
]);
