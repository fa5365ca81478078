import type { ReferralCodeQueries } from '../../../projections/referral-codes/queries.js';
import { ApiError } from '../edge/api-error.js';
import type { Call } from '../credentials/call.js';
import { referralCode } from '../shapes/parameters.js';
import type { Presentation } from '../shapes/presentation.js';
import type { CommandGateway } from '../writing/command-gateway.js';
import type { CodeDetailsResponse } from './code-details.response.js';

/** A code and what it promises, for the routes that show it. */
export class CodeLookUps {
  constructor(
    private readonly gateway: CommandGateway,
    private readonly codes: ReferralCodeQueries,
    private readonly presentation: Presentation,
  ) {}

  /** @throws {ApiError} REFERRAL_CODE_NOT_FOUND, also for the code of a blocked user. */
  async details(call: Call, code: string): Promise<CodeDetailsResponse> {
    const wanted = referralCode(code);
    await this.gateway.readable(call, ['referral-codes']);
    const found = await this.codes.byCode(call.scope, wanted);
    if (found) await this.gateway.refuseUnreadable(found.accountRef);
    if (!found || found.ownerBlocked) throw new ApiError('REFERRAL_CODE_NOT_FOUND');
    const owner = { firstName: found.ownerFirstName, lastName: found.ownerLastName };
    return this.presentation.codeDetails(call.scope, {
      code: found.code,
      dateCreated: found.dateCreated,
      programId: found.programId,
      owner,
    });
  }
}
