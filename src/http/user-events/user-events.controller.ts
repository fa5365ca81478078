import { Body, Controller, HttpCode, Param, Post } from '@nestjs/common';
import { ApiOkResponse } from '@nestjs/swagger';
import { KeyedNames } from '../../privacy/keyed-names.js';
import { Access, TENANT_PATH } from '../edge/access.js';
import { badRequest } from '../edge/api-error.js';
import { Call } from '../credentials/call.js';
import { Fails } from '../shapes/openapi.js';
import { identifier } from '../shapes/parameters.js';
import { CommandGateway } from '../writing/command-gateway.js';
import { personalFieldsOfEvents } from '../writing/personal-fields.js';
import { UserEventsRequest } from './user-events.request.js';
import { userEventsJson, UserEventsResponse } from './user-events.response.js';

@Controller(TENANT_PATH)
export class UserEventsController {
  constructor(
    private readonly gateway: CommandGateway,
    private readonly names: KeyedNames,
  ) {}

  @Post('open/account/:accountId/user/:userId/events')
  @HttpCode(200)
  @Access('user-open', { token: 'read', counted: 'post-events' })
  @ApiOkResponse({ type: UserEventsResponse })
  @Fails('USER_NOT_FOUND', 'EVENTS_ALREADY_RECEIVED')
  receive(
    @Call() call: Call,
    @Param('accountId') account: string,
    @Param('userId') user: string,
    @Body() body: UserEventsRequest,
  ) {
    const accountId = identifier(account, 'accountId');
    const userId = identifier(user, 'userId');
    const others = [
      ...(body.accountId === accountId ? [] : ['accountId']),
      ...(body.userId === userId ? [] : ['userId']),
    ];
    if (others.length > 0)
      throw badRequest(...others.map((name) => `${name} must be the one of the path`));
    const events = body.events.map(({ id, key, fields, dateTriggered }) => ({
      id,
      key,
      fields,
      dateTriggered,
    }));
    return this.gateway.write({
      call,
      account: this.names.accountRef(call.scope, accountId),
      command: {
        type: 'ReceiveUserEvents',
        userId,
        seen: call.seen,
        events,
        idempotencyKey: body.idempotencyKey,
      },
      respond: (written) => userEventsJson({ accountId, userId }, written.events),
      personalFields: (written) => personalFieldsOfEvents(written, userId),
    });
  }
}
