import { BUILT_IN_THEME } from '../../themes/built-in-theme.js';
import { acceptedLocales } from './accept-language.js';
import { documentOf, policyOf, styleWith, type HtmlPage } from './page-document.js';

/** Without HTML's special characters. */
interface PageWords {
  readonly title: string;
  readonly text: string;
}

const ENGLISH: PageWords = {
  title: 'This link leads nowhere',
  text: 'The link may have been mistyped, or it is no longer in use. Ask the person who sent it to you for a new one.',
};

/** Languages with words for rewards. */
const WORDS: Readonly<Record<string, PageWords>> = {
  de: {
    title: 'Dieser Link führt nirgendwohin',
    text: 'Der Link ist vielleicht falsch geschrieben oder wird nicht mehr verwendet. Bitten Sie die Person, die ihn Ihnen geschickt hat, um einen neuen.',
  },
  es: {
    title: 'Este enlace no lleva a ninguna parte',
    text: 'Puede que el enlace esté mal escrito o que ya no se use. Pida uno nuevo a la persona que se lo envió.',
  },
  fr: {
    title: 'Ce lien ne mène nulle part',
    text: 'Le lien a peut-être été mal saisi, ou il n’est plus utilisé. Demandez-en un nouveau à la personne qui vous l’a envoyé.',
  },
  it: {
    title: 'Questo link non porta da nessuna parte',
    text: 'Forse il link è scritto male o non è più in uso. Ne chieda uno nuovo alla persona che gliel’ha inviato.',
  },
  nl: {
    title: 'Deze link leidt nergens heen',
    text: 'De link is misschien verkeerd getypt of wordt niet meer gebruikt. Vraag een nieuwe aan de persoon die hem u heeft gestuurd.',
  },
  pt: {
    title: 'Esta ligação não leva a lado nenhum',
    text: 'A ligação pode ter sido mal escrita ou já não estar em uso. Peça uma nova à pessoa que lha enviou.',
  },
};

const STYLE = styleWith(BUILT_IN_THEME.page.color);
const POLICY = policyOf(STYLE, {});

function pageIn(lang: string, { title, text }: PageWords): HtmlPage {
  const body = [`<h1>${title}</h1>`, `<div class="text"><p>${text}</p></div>`];
  const html = documentOf({ lang, title, head: [], style: STYLE, body });
  return { html, contentSecurityPolicy: POLICY };
}

const ENGLISH_PAGE = pageIn('en', ENGLISH);
const PAGES: ReadonlyMap<string, HtmlPage> = new Map([
  ['en', ENGLISH_PAGE],
  ...Object.entries(WORDS).map(([lang, words]) => [lang, pageIn(lang, words)] as const),
]);

/**
 * The page for all addresses without a page, in the visitor's first known language or English. It
 * reveals nothing about people, tenants and themes.
 */
export const notFoundPage = (acceptLanguage: string | undefined): HtmlPage =>
  acceptedLocales(acceptLanguage)
    .map((locale) => PAGES.get(locale.slice(0, 2)))
    .find((page) => page !== undefined) ?? ENGLISH_PAGE;
