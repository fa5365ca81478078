import { BUILT_IN_THEME } from '../../themes/built-in-theme.js';
import { isMembers, type Members } from '../../themes/merge-members.js';
import { MAIL_TYPES, WIDGET_TYPES } from '../../themes/theme-instance.js';
import type { DefinedKind } from '../../themes/theme-schema.js';
import { textsOf } from '../../themes/theme-texts.js';
import { unknownNames } from '../../themes/unknown-names.js';
import type { Form } from '../sessions/form.js';
import type { FieldNames } from './faults.js';
import { MAIL_WORDS } from './settings-view.js';

/** The parts of a theme's form: each has the texts below its path. */
export const THEME_PARTS = [
  { value: '/page', words: 'Page behind a share link' },
  { value: '/email/configuration', words: 'Sender of mails' },
  ...MAIL_TYPES.map((type) => ({ value: `/email/${type}`, words: `Mail: ${MAIL_WORDS[type][0]}` })),
  ...WIDGET_TYPES.map((type) => ({
    value: `/widget/${type}`,
    words: type === 'REFERRER_WIDGET' ? 'Widget of the referrer' : 'Widget after a conversion',
  })),
];

export const themePart = (text: string): string =>
  THEME_PARTS.find(({ value }) => value === text)?.value ?? '/page';

const LABELS: Readonly<Record<string, string>> = {
  heading: 'Heading',
  text: 'Text',
  buttonText: 'Words on the button',
  siteUrl: 'Address of your site',
  logoUrl: 'Address of your logo',
  color: 'Colour',
  fromName: 'Name of the sender',
  fromAddress: 'Address of the sender',
  subject: 'Subject',
  headerImageUrl: 'Address of the image',
  headerContent: 'Heading',
  bodyContent: 'Text',
  footer: 'Footer',
  shareCTA: 'Text above the share link',
  shareButtonHeader: 'Words on the share button',
  widgetFont: 'Font',
  headerColor: 'Colour of the heading',
  headerDetails: 'Text below the heading',
  shareCodeDetails: 'Text above the code',
  registrationHeader: 'Text above the registration',
  emailShareSubject: 'Shared by mail: subject',
  emailShareBody: 'Shared by mail: text',
  facebookShareSubject: 'Shared on Facebook: title',
  facebookShareBody: 'Shared on Facebook: text',
  twitterShareBody: 'Shared on Twitter: text',
  smsShareBody: 'Shared by SMS: text',
  facebookShareImageURL: 'Shared on Facebook: address of the image',
  widgetHeaderImage: 'Address of the image',
  buttonCopy: 'Words on the button',
  buttonColor: 'Colour of the button',
};

const LONG: ReadonlySet<DefinedKind> = new Set<DefinedKind>([
  'markdown',
  'widgetMarkdown',
  'widgetText',
  'message',
]);

/** The texts of a built-in theme, and an address of the sender, which it leaves out. */
const TEXTS = [
  ...textsOf({
    ...BUILT_IN_THEME,
    email: { ...BUILT_IN_THEME.email, configuration: { fromName: '-', fromAddress: '-' } },
  }),
].filter(({ path }) => Object.hasOwn(LABELS, path.split('/').at(-1) ?? ''));

const textsOfPart = (part: string) => TEXTS.filter(({ path }) => path.startsWith(`${part}/`));

/** The fields of a part with what the values have. */
export const themeFields = (part: string, values: unknown) =>
  textsOfPart(part).map(({ path, kind }) => {
    const value = memberAt(values, path.slice(1).split('/'));
    const text = typeof value === 'string' ? value : '';
    return {
      id: path,
      label: LABELS[path.split('/').at(-1) ?? ''] ?? path,
      value: text,
      rows: LONG.has(kind) ? 4 : null,
      type: kind === 'color' && /^#[0-9a-f]{6}$/i.test(text) ? 'color' : null,
    };
  });

/** The values with what the fields of a part say; an empty one that was left out stays so. */
export const valuesWith = (part: string, values: Members, form: Form): Members =>
  textsOfPart(part).reduce((made, { path }) => {
    const names = path.slice(1).split('/');
    const [typed] = form.all(path);
    if (typed === undefined || (typed === '' && memberAt(made, names) === undefined)) return made;
    return withMember(made, names, typed.replaceAll('\r\n', '\n'));
  }, values);

/** Lines about a member begin with its path. */
export const THEME_FIELDS: FieldNames = Object.fromEntries(
  TEXTS.map(({ path }) => [`${path} `, path]),
);

/** What is said next to fields with names that render as nothing. */
export const unknownAtFields = (values: unknown): Readonly<Record<string, string>> =>
  Object.fromEntries(
    unknownNames(values).map(({ path, names }) => [
      path,
      `Unknown: ${names.join(', ')}. Nothing is shown in its place.`,
    ]),
  );

function memberAt(value: unknown, [name, ...rest]: readonly string[]): unknown {
  if (name === undefined) return value;
  return isMembers(value) && Object.hasOwn(value, name) ? memberAt(value[name], rest) : undefined;
}

function withMember(of: Members, [name = '', ...rest]: readonly string[], value: string): Members {
  const before = Object.hasOwn(of, name) ? of[name] : undefined;
  const after =
    rest.length === 0 ? value : withMember(isMembers(before) ? before : {}, rest, value);
  return { ...of, [name]: after };
}
