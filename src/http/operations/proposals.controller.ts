import {
  Body,
  Controller,
  Get,
  Headers,
  Param,
  Post,
  Query as QueryParameters,
} from '@nestjs/common';
import { ApiHeader } from '@nestjs/swagger';
import {
  approveOnRecord,
  proposeOnRecord,
  waitingProposals,
} from '../../operations/ledger/ledger-proposals.js';
import { proposalNameOf } from '../../operations/ledger/proposal-id.js';
import { NotDone } from '../../operations/outcome.js';
import { OperatorCall } from '../credentials/call.js';
import {
  ApiQueries,
  ApiRequest,
  DOCUMENT,
  DOCUMENTS,
  ForOperators,
} from './described-documents.js';
import { KEY_HEADER } from '../shapes/openapi.js';
import { idempotencyKeyOf } from './idempotency-header.js';
import { LedgerOperations } from './ledger-operations.js';
import { OperationsCore } from './operations-core.js';
import { parsed, parsedQuery } from './operator-request.js';
import { proposalRequest, proposalsQuery } from './proposal.request.js';
import { done } from './refusals.js';

@Controller('operations/ledger/:tenant/proposals')
export class ProposalsController {
  constructor(
    private readonly ledger: LedgerOperations,
    private readonly operations: OperationsCore,
  ) {}

  @Post()
  @ApiRequest(proposalRequest)
  @ForOperators(
    ['finance'],
    DOCUMENT,
    'TENANT_NOT_FOUND',
    'REQUEST_IN_PROGRESS',
    'IDEMPOTENCY_KEY_REUSED',
    'ACCOUNT_NOT_FOUND',
    'USER_NOT_FOUND',
  )
  @ApiHeader(KEY_HEADER)
  async propose(
    @OperatorCall() call: OperatorCall,
    @Param('tenant') alias: string,
    @Headers('idempotency-key') header: string | undefined,
    @Body() body: unknown,
  ) {
    const { mode, account: accountId, user: userId, ...correction } = parsed(proposalRequest, body);
    const key = idempotencyKeyOf(header);
    const scope = await this.ledger.scopeOf(alias, mode);
    const { answers } = this.operations;
    const onReplayed = (): void => repeated(call);
    const request = { accountId, userId, ...correction, by: call.operator.name };
    return this.ledger.onRecord({ operation: 'ledger propose', call, scope }, (core) =>
      proposeOnRecord(
        core,
        scope,
        request,
        key === undefined ? undefined : { key, answers, onReplayed },
      ),
    );
  }

  @Get()
  @ApiQueries(proposalsQuery)
  @ForOperators(['finance'], DOCUMENTS, 'TENANT_NOT_FOUND')
  async proposals(
    @OperatorCall() call: OperatorCall,
    @Param('tenant') alias: string,
    @QueryParameters() query: unknown,
  ) {
    const { mode, limit } = parsedQuery(proposalsQuery, query);
    const scope = await this.ledger.scopeOf(alias, mode);
    return this.ledger.onRecord({ operation: 'ledger proposals', call, scope }, async (core) => {
      const result = await waitingProposals(core, scope, { limit, now: Date.now() });
      return { result, parameters: { limit } };
    });
  }

  @Post(':proposal/approval')
  @ForOperators(
    ['finance'],
    DOCUMENT,
    'TENANT_NOT_FOUND',
    'PROPOSAL_NOT_FOUND',
    'FORBIDDEN',
    'ACCOUNT_NOT_FOUND',
    'USER_NOT_FOUND',
  )
  async approve(
    @OperatorCall() call: OperatorCall,
    @Param('tenant') alias: string,
    @Param('proposal') id: string,
  ) {
    await this.ledger.scopeOf(alias, 'live');
    const name = proposalNameOf(id);
    if (name?.scope.tenant !== alias) return done(new NotDone({ code: 'PROPOSAL_NOT_FOUND' }));
    const { scope } = name;
    const by = call.operator.name;
    const request = { name, by, now: Date.now(), onReplayed: () => repeated(call) };
    return this.ledger.onRecord({ operation: 'ledger approve', call, scope }, (core) =>
      approveOnRecord(core, request),
    );
  }
}

const repeated = ({ reply }: OperatorCall): void =>
  void reply.header('Idempotency-Replayed', 'true');
