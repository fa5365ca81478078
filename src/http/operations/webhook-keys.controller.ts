import { Body, Controller, HttpCode, Post } from '@nestjs/common';
import { ApiOkResponse } from '@nestjs/swagger';
import { durationMs } from '../../foundation/duration.js';
import { rotateSigningKey } from '../../operations/webhooks/rotate-signing-key.js';
import { Access } from '../edge/access.js';
import { OperatorCall } from '../credentials/call.js';
import { ApiRequest, DOCUMENT } from './described-documents.js';
import { OperationsCore } from './operations-core.js';
import { parsed } from './operator-request.js';
import { rotateSigningKeyRequest } from './webhooks.request.js';

@Controller('operations/webhooks')
export class WebhookKeysController {
  constructor(private readonly operations: OperationsCore) {}
  @ApiOkResponse({ schema: DOCUMENT })
  @Post('rotate-signing-key')
  @ApiRequest(rotateSigningKeyRequest)
  @HttpCode(200)
  @Access('operator', { roles: ['support'] })
  rotate(@OperatorCall() { operator }: OperatorCall, @Body() body: unknown) {
    const { grace } = parsed(rotateSigningKeyRequest, body);
    const rotation = { graceMs: durationMs(grace) ?? 0, by: operator.name };
    return rotateSigningKey(this.operations.core, rotation);
  }
}
