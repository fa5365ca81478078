import { LRUCache } from 'lru-cache';
import { escapeHtml, UnrenderableTemplate } from '../../templates/render-template.js';
import { oneLine, wellFormed } from '../../templates/template-values.js';
import { BUILT_IN_THEME } from '../../themes/built-in-theme.js';
import type { HtmlPage } from './page-document.js';
import { sharePage, type SharePageContent } from './share-page.js';

const CACHE_BYTES_MAX = 8 * 1024 * 1024;
const TENANT_BYTES_MAX = CACHE_BYTES_MAX / 4;
const BYTES_PER_ENTRY = 1024;
const BYTES_PER_CHARACTER = 2;
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
 * date. A tenant has a quarter of the memory at most: its pages do not drive out all others.
 */
export class PageSkeletons {
  private readonly tenants = new LRUCache<string, LRUCache<string, HtmlPage>>({
    maxSize: CACHE_BYTES_MAX,
    sizeCalculation: ({ calculatedSize }) => BYTES_PER_ENTRY + calculatedSize,
  });

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
    return this.tenants.calculatedSize;
  }

  private skeleton(facts: Omit<PageFacts, 'name' | 'code'>, isNamed: boolean): HtmlPage {
    const { tenant, theme, locale, reward, pagePrefix, linkPrefix } = facts;
    const key = JSON.stringify([theme, locale, reward, pagePrefix, linkPrefix, isNamed]);
    const skeletons = this.tenants.get(tenant) ?? skeletonsOfTenant();
    const cached = skeletons.get(key);
    if (cached !== undefined) return cached;
    const content = {
      locale,
      values: {
        'friend.name': isNamed ? NAME : null,
        'reward.text': reward,
        code: CODE,
        shareLink: linkPrefix + CODE,
      },
      code: CODE,
      url: pagePrefix + CODE,
    };
    const made = renderable({ theme, ...content });
    skeletons.set(key, made);
    // Its size has changed, which only a new entry counts.
    this.tenants.delete(tenant);
    this.tenants.set(tenant, skeletons);
    return made;
  }
}

const skeletonsOfTenant = (): LRUCache<string, HtmlPage> =>
  new LRUCache({
    maxSize: TENANT_BYTES_MAX,
    maxEntrySize: CACHE_BYTES_MAX / 8,
    sizeCalculation: ({ html }, key) =>
      BYTES_PER_ENTRY + BYTES_PER_CHARACTER * (html.length + key.length),
  });

/** Texts that were stored under other rules, or that render to too much, give way to our own. */
function renderable(content: SharePageContent): HtmlPage {
  try {
    return sharePage(content);
  } catch (error) {
    if (!(error instanceof UnrenderableTemplate)) throw error;
    const { heading, text, buttonText } = BUILT_IN_THEME.page;
    return sharePage({ ...content, theme: { ...content.theme, heading, text, buttonText } });
  }
}
