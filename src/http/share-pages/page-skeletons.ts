import { escapeHtml } from '../../templates/render-template.js';
import { oneLine, wellFormed } from '../../templates/template-values.js';
import type { HtmlPage } from './page-document.js';
import { sharePage, type SharePageContent } from './share-page.js';
import { TenantCaches } from './tenant-caches.js';

const NAME_CHARACTERS_MAX = 100;

/** Characters of private use, which stand in for what differs from code to code. */
const NAME = '\ue000';
const CODE = '\ue001';
const MARKS = /\ue000|\ue001|%EE%80%80|%EE%80%81/g;

/** What a page shows. */
export interface PageFacts extends Pick<SharePageContent, 'theme' | 'locale'> {
  /** Whose share of the memory the page counts to. */
  readonly tenant: string;
  /** Of the person who shared the link; null: unknown. */
  readonly name: string | null;
  readonly code: string;
  /** The promised reward in words; null: none. */
  readonly reward: string | null;
  /** The page's address and the short link to it, without the code at their ends. */
  readonly pagePrefix: string;
  readonly linkPrefix: string;
}

/**
 * Pages, made once for all codes of a theme and filled in for each: a visit costs no template, and
 * nothing about a person is kept. What is cached is known by its content, so it is never out of
 * date.
 */
export class PageSkeletons {
  private readonly skeletons = new TenantCaches<HtmlPage>(({ html }) => html.length);

  page({ name: fullName, code, ...facts }: PageFacts): HtmlPage {
    const name = wellFormed(oneLine(fullName).slice(0, NAME_CHARACTERS_MAX));
    const { html, contentSecurityPolicy } = this.skeleton(facts, name !== '');
    const text = { [NAME]: escapeHtml(name), [CODE]: escapeHtml(code) };
    const inAddress = {
      [encodeURIComponent(NAME)]: encodeURIComponent(name),
      [encodeURIComponent(CODE)]: encodeURIComponent(code),
    };
    const filled: Readonly<Record<string, string>> = { ...text, ...inAddress };
    return { html: html.replace(MARKS, (mark) => filled[mark] ?? ''), contentSecurityPolicy };
  }

  /** The estimated memory in use. */
  get bytes(): number {
    return this.skeletons.bytes;
  }

  private skeleton(facts: Omit<PageFacts, 'name' | 'code'>, isNamed: boolean): HtmlPage {
    const { tenant, theme, locale, reward, pagePrefix, linkPrefix } = facts;
    const key = JSON.stringify([theme, locale, reward, pagePrefix, linkPrefix, isNamed]);
    const cached = this.skeletons.get(tenant, key);
    if (cached !== undefined) return cached;
    const made = sharePage({
      theme,
      locale,
      values: {
        'friend.name': isNamed ? NAME : null,
        'reward.text': reward,
        code: CODE,
        shareLink: linkPrefix + CODE,
      },
      code: CODE,
      url: pagePrefix + CODE,
    });
    this.skeletons.set(tenant, key, made);
    return made;
  }
}
