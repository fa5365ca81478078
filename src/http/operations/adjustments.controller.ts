import { Body, Controller, Headers, Param, Post } from '@nestjs/common';
import { ApiHeader } from '@nestjs/swagger';
import type { Operator } from '../../config/operators.js';
import { personNamed } from '../../operations/audit.js';
import { adjustOnRecord } from '../../operations/ledger/ledger-adjustment.js';
import { ApiError } from '../edge/api-error.js';
import { OperatorCall } from '../credentials/call.js';
import { ApiRequest, DOCUMENT, ForOperators } from './described-documents.js';
import { KEY_HEADER } from '../shapes/openapi.js';
import { idempotencyKeyOf } from './idempotency-header.js';
import { LedgerOperations } from './ledger-operations.js';
import { OperationsCore } from './operations-core.js';
import { parsed } from './operator-request.js';
import { adjustmentRequest } from './adjustment.request.js';

@Controller('operations/ledger/:tenant')
export class AdjustmentsController {
  constructor(
    private readonly ledger: LedgerOperations,
    private readonly operations: OperationsCore,
  ) {}

  @Post('adjustment')
  @ApiRequest(adjustmentRequest)
  @ForOperators(
    ['finance'],
    DOCUMENT,
    'TENANT_NOT_FOUND',
    'ACCOUNT_NOT_FOUND',
    'USER_NOT_FOUND',
    'FORBIDDEN',
    'REQUEST_IN_PROGRESS',
    'IDEMPOTENCY_KEY_REUSED',
  )
  @ApiHeader(KEY_HEADER)
  async adjust(
    @OperatorCall() call: OperatorCall,
    @Param('tenant') alias: string,
    @Headers('idempotency-key') header: string | undefined,
    @Body() body: unknown,
  ) {
    const {
      mode: scopeMode,
      account: accountId,
      user: userId,
      ...correction
    } = parsed(adjustmentRequest, body);
    const key = idempotencyKeyOf(header);
    const scope = await this.ledger.scopeOf(alias, scopeMode);
    const { operator, reply } = call;
    await this.checkApprover(operator, correction.approvedBy);
    const { answers } = this.operations;
    const onReplayed = (): void => void reply.header('Idempotency-Replayed', 'true');
    return this.ledger.onRecord({ operation: 'ledger adjust', call, scope }, (core) =>
      adjustOnRecord(
        core,
        scope,
        { accountId, userId, ...correction, by: operator.name },
        key === undefined ? undefined : { key, answers, onReplayed },
      ),
    );
  }

  /** A correction names two people, the second one on trust; a proposal asks for both keys. */
  private async checkApprover({ name }: Operator, approvedBy: string): Promise<void> {
    const operators = await this.operations.operators.now();
    const isOther = personNamed(approvedBy) !== personNamed(name);
    if (isOther && operators.hasRole(approvedBy, 'finance')) return;
    throw new ApiError('FORBIDDEN', {
      message: 'approvedBy must be another operator than the caller, with the role finance',
    });
  }
}
