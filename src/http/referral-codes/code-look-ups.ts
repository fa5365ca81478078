import type { ReferralCodeQueries } from '../../../projections/referral-codes/queries.js';
import { programOf } from '../../domain/tenant/program-document.js';
import type { OpenTenant } from '../../domain/tenant/tenant.decider.js';
import { ApiError } from '../edge/api-error.js';
import type { Call } from '../credentials/call.js';
import { referralCode } from '../shapes/parameters.js';
import type { CommandGateway } from '../writing/command-gateway.js';
import {
  codeDetailsJson,
  type AppliedCodeResponse,
  type CodeDetails,
  type CodeDetailsResponse,
} from './code-details.response.js';

/** Codes with their rewards, for the routes that show them. */
export class CodeLookUps {
  constructor(
    private readonly gateway: CommandGateway,
    private readonly codes: ReferralCodeQueries,
  ) {}

  /** @throws {ApiError} REFERRAL_CODE_NOT_FOUND, also if the code's user is blocked. */
  async details(call: Call, code: string): Promise<CodeDetailsResponse> {
    const wanted = referralCode(code);
    await this.gateway.readable(call, ['referral-codes']);
    const found = await this.codes.byCode(call.scope, wanted);
    if (found) await this.gateway.refuseUnreadable(found.accountRef);
    if (!found || found.ownerBlocked) throw new ApiError('REFERRAL_CODE_NOT_FOUND');
    const owner = { firstName: found.ownerFirstName, lastName: found.ownerLastName };
    return this.shown(call.tenant, {
      code: found.code,
      dateCreated: found.dateCreated,
      programId: found.programId,
      owner,
    });
  }

  /** With the referred side's reward in the program's current version. */
  shown(tenant: OpenTenant, details: Omit<CodeDetails, 'reward'>): CodeDetailsResponse {
    const program = programOf(tenant, details.programId);
    return codeDetailsJson({ ...details, reward: program?.referredReward?.value ?? null });
  }

  /** An applied code whose owner was deleted. @param programId of the referral. */
  applied(
    tenant: OpenTenant,
    dateCreated: number,
    programId = tenant.defaultProgramId,
  ): AppliedCodeResponse {
    const owner = { firstName: null, lastName: null };
    return { ...this.shown(tenant, { code: '', dateCreated, programId, owner }), code: null };
  }
}
