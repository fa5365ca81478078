import type { CodeOwners } from '../../command-handling/needs/code-owners.js';
import type { TenantDirectory } from '../../tenants/tenant-directory.js';
import type { Scope } from '../../domain/scope.js';
import { programOf } from '../../domain/tenant/program-document.js';
import { nameOfOwner } from '../referral-codes/code-details.response.js';
import { rewardInWords } from '../../themes/reward-in-words.js';
import { nameForOthers } from '../../presenting/name-for-others.js';
import { ShareLinks } from '../../presenting/share-links.js';
import type { HtmlPage } from './page-document.js';
import type { PageSkeletons } from './page-skeletons.js';
import type { PageThemes } from './page-themes.js';

export interface AskedPage {
  readonly scope: Scope;
  readonly code: string;
  /** As the browser sent it. */
  readonly acceptLanguage: string | undefined;
}

/** The pages behind share links of programs without a landing page. */
export class SharePages {
  constructor(
    private readonly owners: CodeOwners,
    private readonly tenants: TenantDirectory,
    private readonly themes: PageThemes,
    private readonly skeletons: PageSkeletons,
    private readonly publicUrl: () => string,
  ) {}

  /**
   * The page of a code in the visitor's language; undefined for a code without owner, or of a
   * blocked one, as for short links.
   */
  async find({ scope, code, acceptLanguage }: AskedPage): Promise<HtmlPage | undefined> {
    const [owner, tenant] = await Promise.all([
      this.owners.find(scope, code),
      this.tenants.find(scope.tenant),
    ]);
    if (!owner || !tenant || owner.user.dateBlocked !== null) return undefined;
    const { page, locale } = await this.themes.find(scope, acceptLanguage);
    const promised = programOf(tenant, owner.programId)?.referredReward?.value;
    const { firstName, lastName } = owner.user.profile ?? {};
    const links = new ShareLinks(this.publicUrl(), scope);
    return this.skeletons.page({
      tenant: scope.tenant,
      theme: page,
      locale,
      name: nameOfOwner({
        firstName: nameForOthers(firstName ?? ''),
        lastName: nameForOthers(lastName ?? ''),
      }),
      code: owner.code,
      reward: promised ? rewardInWords(promised, locale) : null,
      pagePrefix: links.page(''),
      linkPrefix: links.clean(''),
    });
  }
}
