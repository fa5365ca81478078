import type { CodeOwners } from '../../command-handling/needs/code-owners.js';
import type { OpenTenant } from '../../domain/tenant/tenant.decider.js';
import type { Scope } from '../../domain/scope.js';
import { programOf } from '../../domain/tenant/program-document.js';
import { ApiError } from '../edge/api-error.js';
import { ShareLinks } from '../../presenting/share-links.js';
import type { ShareLinkVisits } from './share-link-visits.js';
import type { EngagementMedium, ShareMedium } from '../../presenting/share-links.response.js';

export interface FollowedLink {
  readonly tenant: OpenTenant;
  readonly scope: Scope;
  readonly code: string;
  readonly shareMedium: ShareMedium;
  readonly engagementMedium: EngagementMedium;
  /** False for a HEAD request. */
  readonly isVisit: boolean;
}

/** Targets of short links, and the counting of visits. Reads nothing about the visitor. */
export class ShareLinkRedirects {
  constructor(
    private readonly visits: Pick<ShareLinkVisits, 'add'>,
    private readonly owners: CodeOwners,
    private readonly publicUrl: () => string,
  ) {}

  /**
   * The program's landing page, or the service's page of the code, with code and media in the
   * query.
   * @throws {ApiError} REFERRAL_CODE_NOT_FOUND for an unknown code or a blocked user's.
   */
  async targetOf(link: FollowedLink): Promise<string> {
    const { tenant, scope, code, shareMedium, engagementMedium } = link;
    const owner = await this.owners.find(scope, code);
    if (!owner || owner.referrer.blocked) throw new ApiError('REFERRAL_CODE_NOT_FOUND');
    const target = new URL(
      programOf(tenant, owner.programId)?.landingPage ??
        new ShareLinks(this.publicUrl(), scope).page(owner.code),
    );
    target.searchParams.set('rsCode', owner.code);
    target.searchParams.set('rsShareMedium', shareMedium);
    target.searchParams.set('rsEngagementMedium', engagementMedium);
    const { programId, party } = owner;
    if (link.isVisit)
      this.visits.add({
        scope,
        code,
        link: { person: party.person, programId },
        media: { shareMedium, engagementMedium },
      });
    return target.href;
  }
}
