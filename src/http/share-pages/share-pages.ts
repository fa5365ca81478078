import type { CodeOwners } from '../../command-handling/needs/code-owners.js';
import type { OpenTenant } from '../../domain/tenant/tenant.decider.js';
import type { Scope } from '../../domain/scope.js';
import { programOf } from '../../domain/tenant/program-document.js';
import { nameOfOwner } from '../referral-codes/code-details.response.js';
import { rewardInWords } from '../../themes/reward-in-words.js';
import { nameForOthers } from '../../presenting/name-for-others.js';
import { ShareLinks } from '../../presenting/share-links.js';
import { DEFAULT_LANGUAGE, fallbacksOf } from '../../themes/theme-locale.js';
import type { ThemeRows } from '../../themes/theme-rows.js';
import type { Themes } from '../../themes/themes.js';
import { acceptedLocales } from './accept-language.js';
import type { HtmlPage } from './page-document.js';
import { sharePage } from './share-page.js';

export interface PageRequest {
  readonly tenant: OpenTenant;
  readonly scope: Scope;
  readonly code: string;
  readonly acceptLanguage: string | undefined;
}

/** Pages of share links of programs without a landing page. */
export class SharePages {
  constructor(
    private readonly owners: CodeOwners,
    private readonly rows: Pick<ThemeRows, 'versions'>,
    private readonly themes: Themes,
    private readonly publicUrl: () => string,
  ) {}

  /**
   * A code's page in the visitor's language; undefined for codes that short links do not accept.
   */
  async find({ tenant, scope, ...asked }: PageRequest): Promise<HtmlPage | undefined> {
    const owner = await this.owners.find(scope, asked.code);
    if (!owner || owner.referrer.blocked) return undefined;
    const own = await this.rows.versions(scope);
    const found = localeFor(acceptedLocales(asked.acceptLanguage), (locale) => own.has(locale));
    const { theme } = await this.themes.themeFor(scope.tenant, scope.mode, found);
    const locale = found ?? DEFAULT_LANGUAGE;
    const promised = programOf(tenant, owner.programId)?.referredReward?.value;
    const { firstName, lastName } = owner.referrer.likeness;
    const links = new ShareLinks(this.publicUrl(), scope);
    return sharePage({
      theme: theme.page,
      locale,
      name: nameOfOwner({
        firstName: nameForOthers(firstName ?? ''),
        lastName: nameForOthers(lastName ?? ''),
      }),
      code: owner.code,
      reward: promised ? rewardInWords(promised, locale, tenant.units) : null,
      url: links.page(owner.code),
      shareLink: links.clean(owner.code),
    });
  }
}

/**
 * The first locale with values of its own or of its language. Null: there is none before English,
 * whose texts the service has.
 */
export function localeFor(
  locales: readonly string[],
  isPublished: (locale: string) => boolean,
): string | null {
  for (const locale of locales) {
    const found = fallbacksOf(locale).find((one) => one !== null && isPublished(one));
    if (found !== undefined) return found;
    if (locale.startsWith(DEFAULT_LANGUAGE)) return null;
  }
  return null;
}
