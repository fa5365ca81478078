import { Body, Controller, Delete, Get, HttpCode, Param, Post } from '@nestjs/common';
import { ApiCreatedResponse, ApiNoContentResponse, ApiOkResponse } from '@nestjs/swagger';
import { EndpointGuard } from '../../webhooks/sending/endpoint-guard.js';
import { TestDeliveries } from '../../webhooks/deliveries/test-deliveries.js';
import { WebhookSubscriptions } from '../../webhooks/subscriptions/webhook-subscriptions.js';
import { Access, TENANT_PATH } from '../edge/access.js';
import { ApiError, badRequest } from '../edge/api-error.js';
import { Call } from '../credentials/call.js';
import { Fails } from '../shapes/openapi.js';
import { CommandGateway } from '../writing/command-gateway.js';
import { refusalAnswer } from '../writing/refusal-answers.js';
import { WebhookSubscriptionRequest } from './subscription.request.js';
import {
  newSubscriptionJson,
  NewWebhookSubscriptionResponse,
  subscriptionJson,
  WebhookSubscriptionResponse,
} from './subscription.response.js';

@Controller(TENANT_PATH)
export class SubscriptionsController {
  constructor(
    private readonly gateway: CommandGateway,
    private readonly subscriptions: WebhookSubscriptions,
    private readonly tests: TestDeliveries,
    private readonly guard: EndpointGuard,
  ) {}

  @Post('subscription')
  @HttpCode(201)
  @Access('key')
  @ApiCreatedResponse({ type: NewWebhookSubscriptionResponse })
  @Fails('ENDPOINT_NOT_ALLOWED')
  subscribe(@Call() call: Call, @Body() { endpointUrl, ...choices }: WebhookSubscriptionRequest) {
    return this.gateway.answer(call, async (meta) => {
      const { kind } = await this.guard.check(endpointUrl);
      if (kind !== 'allowed') throw new ApiError('ENDPOINT_NOT_ALLOWED');
      const changed = await this.subscriptions.subscribe(meta, endpointUrl, choices);
      if ('refused' in changed) throw refusalAnswer(changed.refused, changed.details);
      const { subscription, isNew, position, replayed } = changed;
      if (subscription === undefined) throw new Error('a new subscription is missing');
      const body = newSubscriptionJson(subscription, isNew);
      return { status: 201, body, position, replayed };
    });
  }

  @Get('subscription')
  @Access('key')
  @ApiOkResponse({ type: [WebhookSubscriptionResponse], description: 'Oldest first' })
  async list(@Call() call: Call) {
    return (await this.subscriptions.list(call.scope)).map(subscriptionJson);
  }

  @Delete('subscription/:url')
  @HttpCode(204)
  @Access('key')
  @ApiNoContentResponse({ description: 'Nothing is sent there any more' })
  @Fails('SUBSCRIPTION_NOT_FOUND')
  unsubscribe(@Call() call: Call, @Param('url') url: string) {
    return this.gateway.answer(call, async (meta) => {
      const changed = await this.subscriptions.unsubscribe(meta, url);
      if ('refused' in changed) throw refusalAnswer(changed.refused, changed.details);
      const { position, replayed } = changed;
      return { status: 204, body: undefined, position, replayed };
    });
  }

  @Post('subscription/:url/test')
  @HttpCode(204)
  @Access('key', { emptyBody: true, counted: 'test-webhook' })
  @ApiNoContentResponse({ description: 'A test event is on its way' })
  @Fails('SUBSCRIPTION_NOT_FOUND')
  test(@Call() call: Call, @Param('url') url: string) {
    return this.gateway.answer(call, async ({ scope, commandId }) => {
      const subscription = await this.subscriptions.find(scope, url);
      if (subscription === undefined) throw new ApiError('SUBSCRIPTION_NOT_FOUND');
      if (subscription.disabled !== null)
        throw badRequest('the subscription is disabled: subscribe the URL again');
      await this.tests.send(scope, subscription, commandId);
      return { status: 204, body: undefined };
    });
  }
}
