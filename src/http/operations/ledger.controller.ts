import {
  Body,
  Controller,
  Get,
  Headers,
  HttpCode,
  Param,
  Post,
  Query as QueryParameters,
  Res,
} from '@nestjs/common';
import {
  ApiAcceptedResponse,
  ApiHeader,
  ApiOkResponse,
  ApiOperation,
  ApiTags,
} from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import * as z from 'zod';
import { asDigestDocument } from '../../chain/digest-document.js';
import { isAlias } from '../../command-handling/tenant-directory.js';
import type { Operator } from '../../config/operators.js';
import type { Core } from '../../core/core.js';
import type { Mode, Scope } from '../../domain/scope.js';
import { digestOf } from '../../foundation/canonical-json.js';
import { isIdempotencyKey } from '../../kept-answers/idempotency-key.js';
import { auditedOn, type AuditFrame, type Done } from '../../operations/audited.js';
import { parseBalances } from '../../operations/ledger/balance-file.js';
import { adjustOnRecord } from '../../operations/ledger/ledger-adjustment.js';
import { ledgerDigest } from '../../operations/ledger/ledger-digest.js';
import { changePeriod } from '../../operations/ledger/ledger-periods.js';
import { reconcileLedger } from '../../operations/ledger/ledger-reconciliation.js';
import { replayLedger } from '../../operations/ledger/ledger-replay.js';
import { statementOfAccount } from '../../operations/ledger/ledger-statement.js';
import { verifyLedger } from '../../operations/ledger/ledger-verification.js';
import { Access, CallingOperator } from '../edge/access.js';
import { ApiError, badRequest } from '../edge/api-error.js';
import { ApiTextQuery } from '../shapes/described-queries.js';
import { Fails } from '../shapes/openapi.js';
import { ApiRequest, DOCUMENT, RUN } from './described-documents.js';
import { OperationRuns, type RunContext } from './operation-runs.js';
import { OperationsCore } from './operations-core.js';
import { answered, answerWithRun, mode, parsed, text } from './operator-answers.js';

const statementQuery = z.strictObject({
  account: text,
  mode,
  asOf: text.optional(),
  position: text.optional(),
  from: text.optional(),
  to: text.optional(),
  unit: text.optional(),
});
const replayRequest = z.strictObject({
  mode,
  account: text.optional(),
  asOf: text.optional(),
  position: text.optional(),
  resumeFrom: text.optional(),
});
const reconciliationRequest = z.strictObject({
  mode,
  period: text.optional(),
  against: z.string().max(900_000).optional(),
});
const periodRequest = z.strictObject({ mode, period: text, comment: text });
const adjustmentRequest = z.strictObject({
  mode,
  account: text,
  user: text,
  unit: text.max(64),
  reason: text,
  approvedBy: text,
  amount: z.int().refine((amount) => amount !== 0, 'must not be 0'),
});
const digestRequest = z.strictObject({ mode, sign: z.boolean().default(false) });
const verificationRequest = z.strictObject({ mode, digest: z.unknown().optional() });

/** A log that stays away for longer than this is given up; the operation can be started again. */
const AWAY_MS_MAX = 60_000;

/**
 * For finance: what an account had and why, whether the read models and outside books agree, and
 * whether nobody tampered.
 */
/** What is run, for whom, on which ledger. */
interface AskedRun {
  readonly operation: string;
  readonly operator: Operator;
  readonly reply: FastifyReply;
  readonly scope: Scope;
}

@ApiTags('Operations: ledger')
@Controller('operations/ledger/:tenant')
export class LedgerController {
  constructor(
    private readonly operations: OperationsCore,
    private readonly runs: OperationRuns,
  ) {}

  @ApiOperation({ summary: 'What an account had of each unit, and why: opening, lines, closing' })
  @ApiTextQuery('account')
  @ApiTextQuery('mode', { values: ['live', 'test'] })
  @ApiTextQuery('asOf')
  @ApiTextQuery('position')
  @ApiTextQuery('from')
  @ApiTextQuery('to')
  @ApiTextQuery('unit')
  @ApiOkResponse({ schema: DOCUMENT })
  @Get('statement')
  @Access('operator', { roles: ['finance'] })
  @Fails('TENANT_NOT_FOUND')
  async statement(
    @CallingOperator() operator: Operator,
    @Param('tenant') alias: string,
    @QueryParameters() query: unknown,
  ) {
    const { account: accountId, mode: scopeMode, ...selection } = parsed(statementQuery, query);
    const scope = await this.scopeOf(alias, scopeMode);
    return this.onRecord(operator, scope, 'ledger statement', async (core) => {
      const result = await statementOfAccount(core, scope, { accountId, ...selection });
      return {
        result,
        parameters: { account: core.names.accountRef(scope, accountId), ...selection },
        digest: result.digest,
      };
    });
  }

  @ApiOperation({
    summary:
      'Folds the log and compares it with the read models: `account`, `asOf` or `position`, `resumeFrom`, `mode`',
  })
  @ApiOkResponse({ schema: DOCUMENT })
  @ApiAcceptedResponse({ schema: RUN })
  @Post('replay')
  @ApiRequest(replayRequest)
  @HttpCode(200)
  @Access('operator', { roles: ['finance'] })
  @Fails('TENANT_NOT_FOUND')
  async replay(
    @CallingOperator() operator: Operator,
    @Param('tenant') alias: string,
    @Res({ passthrough: true }) reply: FastifyReply,
    @Body() body: unknown,
  ) {
    const { mode: scopeMode, account: accountId, ...options } = parsed(replayRequest, body);
    const scope = await this.scopeOf(alias, scopeMode);
    return this.run(
      { operation: 'ledger replay', operator, reply, scope },
      async (core, { signal, onProgress }) => {
        const request = { ...options, ...(accountId === undefined ? {} : { accountId }) };
        const progress = (accounts: number, total: number): void =>
          onProgress('replaying', accounts, total);
        const result = await replayLedger(core, scope, request, { signal, onProgress: progress });
        const account =
          accountId === undefined ? undefined : core.names.accountRef(scope, accountId);
        return { result, parameters: { account, ...options } };
      },
    );
  }

  @ApiOperation({
    summary:
      'Roll-forward and trial balance of each unit: `period`, `against` (the text of a CSV file), `mode`',
  })
  @ApiOkResponse({ schema: DOCUMENT })
  @ApiAcceptedResponse({ schema: RUN })
  @Post('reconciliation')
  @ApiRequest(reconciliationRequest)
  @HttpCode(200)
  @Access('operator', { roles: ['finance'] })
  @Fails('TENANT_NOT_FOUND')
  async reconcile(
    @CallingOperator() operator: Operator,
    @Param('tenant') alias: string,
    @Res({ passthrough: true }) reply: FastifyReply,
    @Body() body: unknown,
  ) {
    const { mode: scopeMode, period, against: books } = parsed(reconciliationRequest, body);
    const scope = await this.scopeOf(alias, scopeMode);
    const against =
      books === undefined
        ? undefined
        : await answered(Promise.resolve(books).then((csv) => parseBalances(csv, 'against')));
    return this.run(
      { operation: 'ledger reconcile', operator, reply, scope },
      async (core, { onProgress }) => {
        const result = await reconcileLedger(
          core,
          scope,
          { period, against },
          { onProgress: (accounts) => onProgress('reconciling', accounts) },
        );
        return { result, parameters: { period, against: against && digestOf(against.text) } };
      },
    );
  }

  @ApiOperation({
    summary: 'Puts on record that a month is done with: `period`, `comment`, `mode`',
  })
  @ApiOkResponse({ schema: DOCUMENT })
  @Post('close')
  @ApiRequest(periodRequest)
  @HttpCode(200)
  @Access('operator', { roles: ['finance'] })
  @Fails('TENANT_NOT_FOUND')
  close(
    @CallingOperator() operator: Operator,
    @Param('tenant') alias: string,
    @Body() body: unknown,
  ) {
    return this.changePeriod(operator, alias, 'ClosePeriod', body);
  }

  @ApiOperation({
    summary: 'Puts on record that a month is not done with, after all: `period`, `comment`, `mode`',
  })
  @ApiOkResponse({ schema: DOCUMENT })
  @Post('reopen')
  @ApiRequest(periodRequest)
  @HttpCode(200)
  @Access('operator', { roles: ['finance'] })
  @Fails('TENANT_NOT_FOUND')
  reopen(
    @CallingOperator() operator: Operator,
    @Param('tenant') alias: string,
    @Body() body: unknown,
  ) {
    return this.changePeriod(operator, alias, 'ReopenPeriod', body);
  }

  @ApiOperation({
    summary:
      'Appends a correction: `account`, `user`, `unit`, `amount` (+n or −n), `reason`, `approvedBy`, `mode`',
  })
  @ApiOkResponse({ schema: DOCUMENT })
  @Post('adjustment')
  @ApiRequest(adjustmentRequest)
  @HttpCode(200)
  @Access('operator', { roles: ['finance'] })
  @ApiHeader({
    name: 'Idempotency-Key',
    required: false,
    description:
      'The same key with the same correction gives the same answer and has no second effect, on the command line as well.',
    schema: { type: 'string', minLength: 1, maxLength: 255 },
  })
  @Fails('TENANT_NOT_FOUND', 'FORBIDDEN', 'REQUEST_IN_PROGRESS', 'IDEMPOTENCY_KEY_REUSED')
  async adjust(
    @CallingOperator() operator: Operator,
    @Param('tenant') alias: string,
    @Headers('idempotency-key') key: string | undefined,
    @Res({ passthrough: true }) reply: FastifyReply,
    @Body() body: unknown,
  ) {
    const {
      mode: scopeMode,
      account: accountId,
      user: userId,
      ...correction
    } = parsed(adjustmentRequest, body);
    if (key !== undefined && !isIdempotencyKey(key))
      throw badRequest('Idempotency-Key must be 1 to 255 printable characters');
    const scope = await this.scopeOf(alias, scopeMode);
    this.checkApprover(operator, correction.approvedBy);
    const { answers } = this.operations;
    const onReplayed = (): void => void reply.header('Idempotency-Replayed', 'true');
    return this.onRecord(operator, scope, 'ledger adjust', (core) =>
      adjustOnRecord(
        core,
        scope,
        { accountId, userId, ...correction, by: operator.name },
        key === undefined ? undefined : { key, answers, onReplayed },
      ),
    );
  }

  @ApiOperation({
    summary: 'What the chain of the tenant holds now, to be kept elsewhere: `sign`, `mode`',
  })
  @ApiOkResponse({ schema: DOCUMENT })
  @ApiAcceptedResponse({ schema: RUN })
  @Post('digest')
  @ApiRequest(digestRequest)
  @HttpCode(200)
  @Access('operator', { roles: ['finance'] })
  @Fails('TENANT_NOT_FOUND')
  async digest(
    @CallingOperator() operator: Operator,
    @Param('tenant') alias: string,
    @Res({ passthrough: true }) reply: FastifyReply,
    @Body() body: unknown,
  ) {
    const { mode: scopeMode, sign } = parsed(digestRequest, body);
    const scope = await this.scopeOf(alias, scopeMode);
    return this.run(
      { operation: 'ledger digest', operator, reply, scope },
      async (core, { signal, onProgress }) => {
        const result = await ledgerDigest(core, {
          scope,
          sign,
          signal,
          onProgress: (events) => onProgress('sealing', events),
        });
        if (result === null)
          throw badRequest(`the chain of ${scope.tenant} has no events in ${scope.mode} mode`);
        return { result, parameters: { sign } };
      },
    );
  }

  @ApiOperation({
    summary:
      'Recomputes the chain and compares it with its seals and with `digest`, what was said some time ago; `mode`',
  })
  @ApiOkResponse({ schema: DOCUMENT })
  @ApiAcceptedResponse({ schema: RUN })
  @Post('verification')
  @ApiRequest(verificationRequest)
  @HttpCode(200)
  @Access('operator', { roles: ['finance'] })
  @Fails('TENANT_NOT_FOUND')
  async verify(
    @CallingOperator() operator: Operator,
    @Param('tenant') alias: string,
    @Res({ passthrough: true }) reply: FastifyReply,
    @Body() body: unknown,
  ) {
    const { mode: scopeMode, digest } = parsed(verificationRequest, body);
    const scope = await this.scopeOf(alias, scopeMode);
    const outside = digest === undefined ? undefined : asDigestDocument(digest);
    if (digest !== undefined && outside === undefined)
      throw badRequest('digest is not what the digest operation answers');
    if (outside !== undefined && (outside.tenant !== scope.tenant || outside.mode !== scope.mode))
      throw badRequest(`digest is of ${outside.tenant} in ${outside.mode} mode`);
    return this.run(
      { operation: 'ledger verify', operator, reply, scope },
      async (core, { signal, onProgress }) => {
        const result = await verifyLedger(core, {
          scope,
          outside,
          signal,
          awayMsMax: AWAY_MS_MAX,
          onProgress,
        });
        return {
          result,
          parameters: { digest: outside?.digest },
          stands: 'the chain was verified',
        };
      },
    );
  }

  private async changePeriod(
    operator: Operator,
    alias: string,
    type: 'ClosePeriod' | 'ReopenPeriod',
    body: unknown,
  ) {
    const { mode: scopeMode, period, comment } = parsed(periodRequest, body);
    const scope = await this.scopeOf(alias, scopeMode);
    return this.onRecord(
      operator,
      scope,
      type === 'ClosePeriod' ? 'ledger close' : 'ledger reopen',
      async (core) => {
        const result = await changePeriod(core, scope, type, {
          period,
          comment,
          by: operator.name,
        });
        return { result, parameters: { period }, stands: `${period} is ${result.status}` };
      },
    );
  }

  /** Two people answer for a correction. */
  private checkApprover({ name }: Operator, approvedBy: string): void {
    if (approvedBy !== name && this.operations.operators.has(approvedBy)) return;
    throw new ApiError('FORBIDDEN', {
      message: 'approvedBy must be another operator than the caller',
    });
  }

  private async scopeOf(tenant: string, scopeMode: Mode): Promise<Scope> {
    if (!isAlias(tenant) || (await this.operations.core.tenants.find(tenant)) === undefined)
      throw new ApiError('TENANT_NOT_FOUND');
    return { tenant, mode: scopeMode };
  }

  /** Answers when it is done and on record. */
  private onRecord<T>(
    operator: Operator,
    scope: Scope,
    operation: string,
    work: (core: Core) => Promise<Done<T>>,
  ): Promise<T> {
    return answered(auditedOn(this.operations.core, this.frame(operator, scope, operation), work));
  }

  private run(
    { operation, operator, reply, scope }: AskedRun,
    work: (core: Core, context: RunContext) => Promise<Done<unknown>>,
  ): Promise<unknown> {
    return answerWithRun({ runs: this.runs, reply, operator }, operation, (context) =>
      auditedOn(this.operations.core, this.frame(operator, scope, operation), (core) =>
        work(core, context),
      ),
    );
  }

  private frame({ name }: Operator, scope: Scope, operation: string): AuditFrame {
    return { scope, by: name, operation, warn: this.operations.warn };
  }
}
