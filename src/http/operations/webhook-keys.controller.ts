import { Body, Controller, Post } from '@nestjs/common';
import { durationMs } from '../../foundation/duration.js';
import { rotateSigningKey } from '../../operations/webhooks/rotate-signing-key.js';
import { OperatorCall } from '../credentials/call.js';
import { ApiRequest, DOCUMENT, ForOperators } from './described-documents.js';
import { OperationsCore } from './operations-core.js';
import { parsed } from './operator-request.js';
import { rotateSigningKeyRequest } from './webhooks.request.js';

@Controller('operations/webhooks')
export class WebhookKeysController {
  constructor(private readonly operations: OperationsCore) {}
  @Post('rotate-signing-key')
  @ApiRequest(rotateSigningKeyRequest)
  @ForOperators(['support'], DOCUMENT)
  rotate(@OperatorCall() { operator }: OperatorCall, @Body() body: unknown) {
    const { grace } = parsed(rotateSigningKeyRequest, body);
    const rotation = { graceMs: durationMs(grace) ?? 0, by: operator.name };
    return rotateSigningKey(this.operations.core, rotation);
  }
}
