import { randomUUID } from 'node:crypto';
import { Readable } from 'node:stream';
import { Param } from '@nestjs/common';
import type { Core } from '../../stores/core.js';
import type { StaffMeta } from '../../operations/audit.js';
import type { Done } from '../../operations/audited.js';
import { deliveryDetails } from '../../operations/webhooks/delivery-request.js';
import { sendTest } from '../../operations/webhooks/send-samples.js';
import {
  deliveryQueries,
  resendDeliveries,
  showDelivery,
} from '../../operations/webhooks/deliveries.js';
import {
  addNewEndpoint,
  changeEndpointTypes,
  enableEndpoint,
  endpointsToChange,
  isIssuedSecret,
  removeEndpoint,
  rotateEndpointSecret,
  type IssuedSecret,
} from '../../operations/webhooks/endpoints.js';
import { NotDone, notDoneAbout, type Outcome, outcomeOf } from '../../operations/outcome.js';
import { WEBHOOK_TYPES } from '../../webhooks/payloads/announced.js';
import { EndpointGuard } from '../../webhooks/sending/endpoint-guard.js';
import { redirected, sendCsv, sendPage } from '../console-answers.js';
import { TenantCall } from '../console-call.js';
import { FilePageFor, FormFor, PageAt, TenantPage } from '../console-routes.js';
import { faultsOf, NO_FAULTS } from '../view/faults.js';
import { DATES, listShown } from '../view/list-page.js';
import type { DoneKey } from '../view/layout.js';
import { stateView } from '../view/states.js';
import { sheetOf } from '../view/table.js';
import { template } from '../view/templates.js';
import { notOfThisTenant, ofThisTenant, queried, queryOf, TenantPages } from './tenant-pages.js';
import {
  DELIVERY_CHOICES,
  deliveryColumns,
  deliveryWords,
  endpointColumns,
  endpointsView,
  failureWords,
  fieldsOf,
  testedView,
  type TypedEndpoint,
  typedEndpoint,
} from '../view/webhooks-view.js';

const content = template('webhooks');
const deliveryContent = template('delivery');

/** What a form did: how many deliveries it resent, or the delivery of its test. */
interface ActionResult {
  readonly resent?: number;
  readonly id?: string;
}

/** For support: endpoints, deliveries and their attempts. */
@TenantPage('webhooks')
export class ConsoleWebhooksController {
  constructor(
    private readonly pages: TenantPages,
    private readonly guard: EndpointGuard,
  ) {}

  @PageAt(':delivery', 'support')
  async delivery(@TenantCall() call: TenantCall, @Param('delivery') id: string): Promise<string> {
    const { payments } = this.pages;
    // A payload names people.
    const delivery = await this.pages.recorded(call, 'console delivery', async (core) => ({
      result: await deliveryDetails(core, call.scope, { id, publicUrl: payments.publicUrl }),
      parameters: { delivery: id },
      digest: 'delivery',
    }));
    if (delivery instanceof NotDone) throw notOfThisTenant();
    const { request, attempts } = delivery;
    const frame = { title: `Delivery of ${delivery.type}`, section: '/webhooks' };
    return sendPage(call, frame, deliveryContent, {
      delivery,
      attempts: attempts.map((one) => ({ ...one, reason: failureWords(one.reason) })),
      state: stateView(deliveryWords(delivery.state)),
      headers: request.headers.map(([name, value]) => ({ name, value })),
      missing: request.missing,
      body: request.body === null ? null : JSON.stringify(JSON.parse(request.body), undefined, 2),
      webhooksPath: `${call.tenantPath}/webhooks`,
    });
  }

  @FormFor('support')
  async act(@TenantCall() call: TenantCall): Promise<string | Readable> {
    const typed = typedEndpoint(call.form);
    const outcome = await this.done(call, typed);
    if (outcome instanceof NotDone) return this.page(call, typed, outcome);
    if (isIssuedSecret(outcome)) return this.page(call, undefined, undefined, outcome);
    const path = `${call.tenantPath}/webhooks`;
    if (outcome.resent !== undefined) return redirected(call, path, 'resent', outcome.resent);
    if (outcome.id !== undefined) return redirected(call, path + queryOf({ tested: outcome.id }));
    return redirected(call, path, DONE_BY.get(typed.action));
  }

  private async done(call: TenantCall, typed: TypedEndpoint): Promise<Outcome<ActionResult>> {
    const { form, scope } = call;
    const { endpoint, types, since, delivery } = typed;
    const recorded = async <T>(
      operation: string,
      work: (core: Core, meta: StaffMeta) => Promise<Done<T>>,
    ): Promise<Outcome<ActionResult>> => {
      const outcome = await this.pages.recorded(call, `webhook ${operation}`, work);
      return outcome instanceof NotDone ? outcome : (outcome ?? {});
    };
    switch (typed.action) {
      case 'add':
        return recorded('subscribe', (core, meta) =>
          addNewEndpoint(core, this.guard, meta, {
            endpointUrl: endpoint,
            name: typed.name || undefined,
            types,
          }),
        );
      case 'types':
        return recorded('change-types', (core, meta) =>
          changeEndpointTypes(core, meta, { endpoint, types }),
        );
      case 'remove':
        return recorded('unsubscribe', (core, meta) => removeEndpoint(core, meta, endpoint));
      case 'test':
        return recorded('test', (core) =>
          sendTest({ core, scope, payments: this.pages.payments }, endpoint),
        );
      case 'rotate': {
        if (form.text('confirmed') !== scope.tenant)
          return notDoneAbout('confirmed', `type “${scope.tenant}” to confirm`);
        const seen = form.text('seen') || undefined;
        const { grace } = typed;
        return recorded('rotate-secret', (core, meta) =>
          rotateEndpointSecret(core, meta, { endpoint, grace, seen }),
        );
      }
      case 'enable':
        return recorded('enable', (core, meta) => enableEndpoint(core, meta, endpoint));
      default: {
        const which = delivery === '' ? { endpoint, since } : { delivery };
        const once = { operation: 'webhook resend', asked: which };
        const outcome = await this.pages.once(call, once, (core) =>
          resendDeliveries(core, scope, which),
        );
        const isNone = !(outcome instanceof NotDone) && outcome.resent === 0;
        return isNone ? notDoneAbout('since', nothingResent(delivery === '')) : outcome;
      }
    }
  }

  @FilePageFor('support')
  async page(
    @TenantCall() call: TenantCall,
    typed?: TypedEndpoint,
    refused?: NotDone,
    issued?: IssuedSecret,
  ): Promise<string | Readable> {
    const { core } = this.pages;
    const { scope } = call;
    const path = `${call.tenantPath}/webhooks`;
    const endpoints = await endpointsToChange(core, scope);
    const keyOf = (url: string): string => core.webhooks.idOf(scope, url);
    const asked = queried(call.query, 'endpoints', 'by', 'dir', 'tested');
    if (asked.endpoints === 'csv') {
      return sendCsv(call, 'endpoints', sheetOf(endpoints, endpointColumns));
    }
    const formKey = randomUUID();
    const deliveries = await this.deliveries(call, { path, key: formKey }, endpoints);
    if (deliveries instanceof Readable) return deliveries;
    const { tested: id } = asked;
    const tested =
      id === '' ? null : ofThisTenant(await outcomeOf(() => showDelivery(core, scope, id)));
    const key = typed && typed.action !== 'add' ? keyOf(typed.endpoint) : '';
    const faults = refused === undefined ? NO_FAULTS : faultsOf(refused, fieldsOf(typed, key));
    return sendPage(call, { of: 'webhooks', faults }, content, {
      ...endpointsView(endpoints, { path, by: asked.by, dir: asked.dir, keyOf, typed }),
      deliveries,
      formKey,
      issued: issued ?? null,
      tested: tested === null || tested instanceof NotDone ? null : testedView(tested, path),
      alias: scope.tenant,
    });
  }

  private deliveries(
    call: TenantCall,
    { path, key }: { readonly path: string; readonly key: string },
    endpoints: readonly { readonly endpointUrl: string }[],
  ) {
    const { core } = this.pages;
    const options = endpoints.map((one) => one.endpointUrl);
    return listShown(this.pages, call, {
      section: '/webhooks',
      name: 'deliveries',
      isPersonal: false,
      columns: deliveryColumns(path, key),
      newest: { sort: 'created', descending: true },
      filters: [
        ...(options.length > 0 ? [{ ...OF_ENDPOINT, options }] : []),
        { name: 'state', label: 'State', options: DELIVERY_CHOICES },
        { name: 'type', label: 'Event type', options: WEBHOOK_TYPES },
        ...DATES,
      ],
      queries: deliveryQueries(core),
      // Deliveries belong to endpoints, which stay when test data are removed.
      scope: call.scope,
      empty: { text: 'Deliveries appear here when an event is sent to an endpoint.' },
    });
  }
}

const OF_ENDPOINT = { name: 'endpoint', label: 'Endpoint', isOpen: true } as const;

const nothingResent = (isSince: boolean): string =>
  isSince
    ? 'no delivery was resent: this endpoint was sent none since then'
    : 'the delivery was not resent: it is being sent now, or is older than the subscription';

const DONE_BY: ReadonlyMap<string, DoneKey> = new Map([
  ['remove', 'removed'],
  ['types', 'typesSaved'],
  ['enable', 'enabled'],
]);
