import {
  Body,
  Controller,
  Get,
  HttpCode,
  Param,
  Post,
  Query as QueryParameters,
} from '@nestjs/common';
import { ApiOkResponse } from '@nestjs/swagger';
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
import { Access } from '../edge/access.js';
import { OperatorCall } from '../credentials/call.js';
import { Fails } from '../shapes/openapi.js';
import { ApiQueries, ApiRequest, DOCUMENT, DOCUMENTS } from './described-documents.js';
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

  @ApiOkResponse({ schema: DOCUMENTS })
  @Get()
  @ApiQueries(endpointsRequest)
  @Access('operator', { roles: ['support'] })
  @Fails('TENANT_NOT_FOUND')
  async endpoints(@Param('tenant') alias: string, @QueryParameters() query: unknown) {
    const scope = await this.ledger.scopeOf(alias, parsedQuery(endpointsRequest, query).mode);
    return answered(showEndpoints(this.operations.core, scope));
  }

  @ApiOkResponse({ schema: DOCUMENTS })
  @Get('deliveries')
  @ApiQueries(deliveriesRequest)
  @Access('operator', { roles: ['support'] })
  @Fails('TENANT_NOT_FOUND')
  async deliveries(@Param('tenant') alias: string, @QueryParameters() query: unknown) {
    const { mode, ...selection } = parsedQuery(deliveriesRequest, query);
    const scope = await this.ledger.scopeOf(alias, mode);
    return answered(showDeliveries(this.operations.core, scope, selection));
  }

  @ApiOkResponse({ schema: DOCUMENT })
  @Get('deliveries/:delivery')
  @ApiQueries(endpointsRequest)
  @Access('operator', { roles: ['support'] })
  @Fails('TENANT_NOT_FOUND', 'DELIVERY_NOT_FOUND')
  async delivery(
    @Param('tenant') alias: string,
    @Param('delivery') id: string,
    @QueryParameters() query: unknown,
  ) {
    const scope = await this.ledger.scopeOf(alias, parsedQuery(endpointsRequest, query).mode);
    return answered(showDelivery(this.operations.core, scope, id));
  }

  @ApiOkResponse({ schema: DOCUMENT })
  @Post('resend')
  @ApiRequest(resendRequest)
  @HttpCode(200)
  @Access('operator', { roles: ['support'] })
  @Fails('TENANT_NOT_FOUND', 'SUBSCRIPTION_NOT_FOUND', 'DELIVERY_NOT_FOUND')
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

  @ApiOkResponse({ schema: DOCUMENT })
  @Post('enable')
  @ApiRequest(endpointRequest)
  @HttpCode(200)
  @Access('operator', { roles: ['support'] })
  @Fails('TENANT_NOT_FOUND', 'SUBSCRIPTION_NOT_FOUND')
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

  @ApiOkResponse({ schema: DOCUMENT })
  @Post('rotate-secret')
  @ApiRequest(rotateSecretRequest)
  @HttpCode(200)
  @Access('operator', { roles: ['support'] })
  @Fails('TENANT_NOT_FOUND', 'SUBSCRIPTION_NOT_FOUND')
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
