import type { Scope } from '../domain/scope.js';
import {
  ENGAGEMENT_MEDIA,
  SHARE_MEDIA,
  type EngagementMedium,
  type MediumLinksResponse,
  type ProgramShareLinksResponse,
  type ShareLinksResponse,
  type ShareMedium,
  type ShareUrlsResponse,
} from './share-links.response.js';

/** Links that a user shares; they redirect to the program's landing page or to a page here. */

export class ShareLinks {
  private readonly root: string;
  private readonly ofLedger: string;

  /** @param publicUrl with or without a trailing slash. */
  constructor(publicUrl: string, { tenant, mode }: Scope) {
    this.root = publicUrl.replace(/\/+$/, '');
    this.ofLedger = `${encodeURIComponent(tenant)}/${mode === 'live' ? '' : 'test/'}`;
  }

  /** Without media. */
  clean(code: string): string {
    return `${this.root}/s/${this.ofLedger}${encodeURIComponent(code)}`;
  }

  /** The page of a program without a landing page. */
  page(code: string): string {
    return `${this.root}/r/${this.ofLedger}${encodeURIComponent(code)}`;
  }

  /** The clean link if both media are unknown. */
  link(code: string, share: ShareMedium, engagement: EngagementMedium): string {
    if (share === 'UNKNOWN' && engagement === 'UNKNOWN') return this.clean(code);
    return `${this.clean(code)}?m=${share}&e=${engagement}`;
  }

  /** A user's `shareLinks`, and the answer of the sharelinks route. */
  flat(code: string): ShareLinksResponse {
    const unknown = this.byMedium(code, 'UNKNOWN');
    const mobile = this.byMedium(code, 'MOBILE');
    return {
      ...unknown,
      mobileShareLink: mobile.shareLink,
      mobileFacebookShareLink: mobile.facebookShareLink,
      mobileTwitterShareLink: mobile.twitterShareLink,
      mobileEmailShareLink: mobile.emailShareLink,
      EMBED: this.byMedium(code, 'EMBED'),
      POPUP: this.byMedium(code, 'POPUP'),
      HOSTED: this.byMedium(code, 'HOSTED'),
      MOBILE: mobile,
      EMAIL: this.byMedium(code, 'EMAIL'),
    };
  }

  /** An entry of a user's `programShareLinks`. */
  ofProgram(code: string): ProgramShareLinksResponse {
    const direct = (engagement: EngagementMedium) => ({
      DIRECT: this.link(code, 'DIRECT', engagement),
    });
    return {
      cleanShareLink: this.clean(code),
      MOBILE: direct('MOBILE'),
      EMAIL: direct('EMAIL'),
      UNKNOWN: direct('UNKNOWN'),
    };
  }

  /** The answer of the shareurls routes. */
  urls(
    code: string,
    only: {
      readonly engagement?: EngagementMedium | undefined;
      readonly share?: ShareMedium | undefined;
    } = {},
  ): ShareUrlsResponse {
    const engagements = only.engagement === undefined ? ENGAGEMENT_MEDIA : [only.engagement];
    const shares = only.share === undefined ? SHARE_MEDIA : [only.share];
    const byEngagement = engagements.map(
      (engagement) =>
        [
          engagement,
          Object.fromEntries(shares.map((share) => [share, this.link(code, share, engagement)])),
        ] as const,
    );
    return {
      shareLinks: { cleanShareLink: this.clean(code), ...Object.fromEntries(byEngagement) },
    };
  }

  private byMedium(code: string, engagement: EngagementMedium): MediumLinksResponse {
    const clean = this.clean(code);
    return {
      shareLink: `${clean}?m=DIRECT&e=${engagement}`,
      facebookShareLink: `${clean}?m=FACEBOOK&e=${engagement}`,
      twitterShareLink: `${clean}?m=TWITTER&e=${engagement}`,
      emailShareLink: `${clean}?m=EMAIL&e=${engagement}`,
      linkedinShareLink: `${clean}?m=LINKEDIN&e=${engagement}`,
    };
  }
}
