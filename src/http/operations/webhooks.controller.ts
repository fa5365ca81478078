import { Body, Controller, Get, Param, Post, Query as QueryParameters } from '@nestjs/common';
import { durationMs } from '../../foundation/duration.js';
import { OPERATOR } from '../../operations/audit.js';
import { NotDone } from '../../operations/outcome.js';
import {
  enableOnRecord,
  resendOnRecord,
  rotateEndpointSecret,
  showDeliveries,
  showDelivery,
  showEndpoints,
} from '../../operations/webhooks/webhook-commands.js';
import { OperatorCall } from '../credentials/call.js';
import {
  ApiQueries,
  ApiRequest,
  DOCUMENT,
  DOCUMENTS,
  ForOperators,
} from './described-documents.js';
import { LedgerOperations } from './ledger-operations.js';
import { OperationsCore } from './operations-core.js';
import { answered } from './operator-answers.js';
import { parsed, parsedQuery } from './operator-request.js';
import {
  deliveriesRequest,
  endpointRequest,
  endpointsRequest,
  resendRequest,
  rotateSecretRequest,
} from './webhooks.request.js';

@Controller('operations/webhooks/:tenant')
export class WebhooksController {
  constructor(
    private readonly operations: OperationsCore,
    private readonly ledger: LedgerOperations,
  ) {}

  @Get()
  @ApiQueries(endpointsRequest)
  @ForOperators(['support'], DOCUMENTS, 'TENANT_NOT_FOUND')
  async endpoints(@Param('tenant') alias: string, @QueryParameters() query: unknown) {
    const scope = await this.ledger.scopeOf(alias, parsedQuery(endpointsRequest, query).mode);
    return answered(showEndpoints(this.operations.core, scope));
  }

  @Get('deliveries')
  @ApiQueries(deliveriesRequest)
  @ForOperators(['support'], DOCUMENTS, 'TENANT_NOT_FOUND')
  async deliveries(@Param('tenant') alias: string, @QueryParameters() query: unknown) {
    const { mode, ...selection } = parsedQuery(deliveriesRequest, query);
    const scope = await this.ledger.scopeOf(alias, mode);
    return answered(showDeliveries(this.operations.core, scope, selection));
  }

  @Get('deliveries/:delivery')
  @ApiQueries(endpointsRequest)
  @ForOperators(['support'], DOCUMENT, 'TENANT_NOT_FOUND', 'DELIVERY_NOT_FOUND')
  async delivery(
    @Param('tenant') alias: string,
    @Param('delivery') id: string,
    @QueryParameters() query: unknown,
  ) {
    const scope = await this.ledger.scopeOf(alias, parsedQuery(endpointsRequest, query).mode);
    return answered(showDelivery(this.operations.core, scope, id));
  }

  @Post('resend')
  @ApiRequest(resendRequest)
  @ForOperators(
    ['support'],
    DOCUMENT,
    'TENANT_NOT_FOUND',
    'SUBSCRIPTION_NOT_FOUND',
    'DELIVERY_NOT_FOUND',
  )
  async resend(
    @OperatorCall() call: OperatorCall,
    @Param('tenant') alias: string,
    @Body() body: unknown,
  ) {
    const { mode, ...asked } = parsed(resendRequest, body);
    const scope = await this.ledger.scopeOf(alias, mode);
    const which = 'delivery' in asked ? { id: asked.delivery } : asked;
    return this.ledger.onRecord({ operation: 'webhook resend', call, scope }, (core) =>
      resendOnRecord(core, scope, which),
    );
  }

  @Post('enable')
  @ApiRequest(endpointRequest)
  @ForOperators(['support'], DOCUMENT, 'TENANT_NOT_FOUND', 'SUBSCRIPTION_NOT_FOUND')
  async enable(
    @OperatorCall() call: OperatorCall,
    @Param('tenant') alias: string,
    @Body() body: unknown,
  ) {
    const { mode, endpoint } = parsed(endpointRequest, body);
    const scope = await this.ledger.scopeOf(alias, mode);
    return this.ledger.onRecord({ operation: 'webhook enable', call, scope }, (core) =>
      enableOnRecord(core, scope, endpoint, OPERATOR),
    );
  }

  @Post('rotate-secret')
  @ApiRequest(rotateSecretRequest)
  @ForOperators(['support'], DOCUMENT, 'TENANT_NOT_FOUND', 'SUBSCRIPTION_NOT_FOUND')
  async rotateSecret(
    @OperatorCall() call: OperatorCall,
    @Param('tenant') alias: string,
    @Body() body: unknown,
  ) {
    const { mode, endpoint, grace } = parsed(rotateSecretRequest, body);
    const scope = await this.ledger.scopeOf(alias, mode);
    const asked = { endpoint, graceMs: durationMs(grace) ?? 0 };
    const frame = { operation: 'webhook rotate-secret', call, scope };
    return this.ledger.onRecord(frame, async (core) => {
      const result = await rotateEndpointSecret(core, scope, asked, OPERATOR);
      if (result instanceof NotDone) return result;
      const completed = 'the endpoint has a new secret';
      return { result, parameters: { grace }, digest: 'secret', completed };
    });
  }
}
