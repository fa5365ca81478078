import { MAIL_ADDRESS, MAIL_ADDRESS_CHARACTERS_MAX } from '../foundation/mail-address.js';
import { TEMPLATE_CHARACTERS_MAX } from '../templates/template-values.js';
import { MAIL_TYPES, WIDGET_TYPES } from './theme-instance.js';

/**
 * The JSON Schema of themes that tenants see. Descriptions of `$defs` and theme-faults.ts have what
 * it cannot express.
 */

const ref = (name: keyof typeof DEFS) => ({ $ref: `#/$defs/${name}` });
const members = (properties: object) => ({ type: 'object', properties });

/** Without control characters and line separators. */
const ONE_LINE = '^[^\\u0000-\\u001f\\u007f-\\u009f\\u2028\\u2029]*$';
/** Without credentials. */
const ADDRESS = '//[^\\s<>"\'`\\\\{}|^/?#@]+(?:[/?#][^\\s<>"\'`\\\\{}|^]*)?';
const HTTP = '[Hh][Tt][Tt][Pp][Ss]?:';
const SCRIPT =
  '[Jj][Aa][Vv][Aa][Ss][Cc][Rr][Ii][Pp][Tt]|[Vv][Bb][Ss][Cc][Rr][Ii][Pp][Tt]|[Dd][Aa][Tt][Aa]';
const CONTROL = '\\u0000-\\u0008\\u000b\\u000c\\u000e-\\u001f\\u007f\\ufffe\\uffff';
const TEMPLATE = {
  type: 'string',
  maxLength: TEMPLATE_CHARACTERS_MAX,
  pattern: `^[^${CONTROL}]*$`,
  not: { pattern: '\\{\\{\\{' },
} as const;

const DEFS = {
  color: {
    description: 'A colour: #rgb or #rrggbb',
    type: 'string',
    pattern: '^#(?:[0-9A-Fa-f]{3}|[0-9A-Fa-f]{6})$',
  },
  font: {
    description: 'The name of a font. Helvetica Neue and Lato may be followed by others',
    type: 'string',
    maxLength: 200,
    pattern:
      '^(?:Times New Roman|"Times New Roman"|\'Times New Roman\'|Arial|Courier|Tahoma|Verdana|Georgia|["\']?(?:Helvetica Neue|Lato)["\']?(?: ?, ?["\']?[A-Za-z][A-Za-z -]*["\']?)*)$',
  },
  label: {
    description: 'One line; no template',
    type: 'string',
    maxLength: 255,
    pattern: ONE_LINE,
  },
  sender: {
    description: 'A name on one line, without @, < and >; no template',
    type: 'string',
    maxLength: 255,
    pattern: ONE_LINE,
    not: { pattern: '\\{\\{|[@<>]' },
  },
  address: {
    description:
      'One e-mail address: the sender at a domain of the tenant, otherwise the address for replies; no template',
    type: 'string',
    format: 'email',
    minLength: 5,
    maxLength: MAIL_ADDRESS_CHARACTERS_MAX,
    pattern: MAIL_ADDRESS.source,
    not: { pattern: '\\{\\{' },
  },
  markdown: { description: 'A template, in markdown', ...TEMPLATE },
  line: {
    description: 'A template of one line',
    ...TEMPLATE,
    minLength: 1,
    maxLength: 1000,
    pattern: ONE_LINE,
  },
  widgetMarkdown: { description: 'A template of a widget, in markdown', ...TEMPLATE },
  widgetText: {
    description: 'A template of a widget, in markdown, not empty',
    ...TEMPLATE,
    minLength: 1,
  },
  message: {
    description: 'A template; no markdown',
    ...TEMPLATE,
    minLength: 4,
  },
  image: {
    description: 'The absolute address of an image, a template of one, or empty',
    type: 'string',
    maxLength: 2000,
    pattern: `^(?:(?:${HTTP})?${ADDRESS})?$|\\{\\{`,
    not: { pattern: '\\{\\{\\{' },
  },
  site: {
    description: 'The absolute address of a site, or empty',
    type: 'string',
    maxLength: 2000,
    pattern: `^(?:${HTTP}${ADDRESS})?$`,
  },
  addressPattern: {
    description: 'A pattern of addresses',
    type: 'string',
    maxLength: 2000,
    pattern: ONE_LINE,
    not: { pattern: `^\\s*[<("']*(?:${SCRIPT}):` },
  },
} as const;

const widgetType = { enum: WIDGET_TYPES };

const customization = {
  widgetFont: ref('font'),
  headerColor: ref('color'),
  heading: ref('widgetText'),
  headerDetails: ref('widgetText'),
};

const callToAction = members({
  content: members({
    buttonSide: { enum: ['left', 'right', 'center'] },
    buttonPosition: { enum: ['top', 'bottom', 'middle'] },
    buttonColor: ref('color'),
    buttonText: ref('widgetMarkdown'),
    buttonWidth: { type: 'integer', minimum: 0, maximum: 10_000 },
  }),
});

const widget = (content: object) =>
  members({
    configuration: members({ themeMapping: ref('label') }),
    content: members(content),
    cta: callToAction,
  });

const mail = members({
  configuration: members({ subject: ref('line'), themeMapping: ref('label') }),
  content: members({
    headerImageUrl: ref('image'),
    headerContent: ref('markdown'),
    bodyContent: ref('markdown'),
    footer: ref('markdown'),
    shareCTA: ref('markdown'),
    hasShareLink: { type: 'boolean' },
    shareButtonHeader: ref('markdown'),
  }),
});

const jsOptions = members({
  widget: members({ defaultWidgetType: widgetType }),
  conversionUrls: { type: 'array', maxItems: 1000, items: ref('addressPattern') },
  widgetUrlMappings: {
    type: 'array',
    maxItems: 1000,
    items: members({
      url: ref('addressPattern'),
      showAsCTA: { type: 'boolean' },
      displayOnLoad: { type: 'boolean' },
      widgetType,
    }),
  },
});

const widgets = members({
  REFERRER_WIDGET: widget({
    widgetCustomization: members({
      ...customization,
      shareCodeDetails: ref('widgetMarkdown'),
      registrationHeader: ref('widgetMarkdown'),
    }),
    shareMessaging: members({
      emailShareSubject: { type: 'string', ...ref('message'), pattern: '^[^\\r\\n]*$' },
      emailShareBody: ref('message'),
      facebookShareSubject: { type: 'string', ...ref('message'), pattern: '^[^\\r\\n]*$' },
      facebookShareBody: ref('message'),
      twitterShareBody: ref('message'),
      smsShareBody: ref('message'),
      facebookShareImageURL: ref('image'),
    }),
  }),
  CONVERSION_WIDGET: widget({
    widgetCustomization: members({
      ...customization,
      widgetHeaderImage: { type: 'string', ...ref('image'), minLength: 1 },
      buttonCopy: ref('widgetText'),
    }),
  }),
});

const email = members({
  configuration: members({
    fromName: ref('sender'),
    fromAddress: ref('address'),
  }),
  ...Object.fromEntries(MAIL_TYPES.map((type) => [type, mail])),
});

const page = members({
  heading: ref('line'),
  text: ref('markdown'),
  buttonText: ref('line'),
  siteUrl: ref('site'),
  logoUrl: ref('image'),
  color: ref('color'),
});

const MEMBERS = { jsOptions, widget: widgets, email, page };

export const THEME_SCHEMA = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  title: 'Theme variables',
  description: [
    'Members that are not named here are kept. What no schema can say is refused as well:',
    'templates that do not parse; partials, decorators and block parameters; `constructor`,',
    '`prototype` and `__proto__` in a path; blocks and calls that are nested deeper than 8; more',
    'than 100 tags; more than 300 lines, 500 marks of markdown (100 of emphasis), 150 marks of',
    'lists and quotes, or 400 elements, all of which count twice in a text with `each`; words of',
    'more than 1 000 characters; addresses without a host; and a document of more than 256 KiB as',
    'compact JSON. Any variable may be named and any helper called: mails and pages show nothing',
    'for those that they do not know.',
  ].join(' '),
  type: 'object',
  required: ['jsOptions', 'widget', 'email'],
  properties: MEMBERS,
  $defs: DEFS,
} as const;

/** A theme in an answer: its parts, and additional members. */
export const THEME_VALUES = {
  type: 'object',
  additionalProperties: true,
  properties: Object.fromEntries(
    Object.keys(THEME_SCHEMA.properties).map((name) => [
      name,
      { type: 'object', additionalProperties: true },
    ]),
  ),
} as const;

export const THEME_DOCUMENT = {
  ...THEME_VALUES,
  required: [...THEME_SCHEMA.required],
  allOf: [{ $ref: '#/components/schemas/Theme' }],
};

/** Schema of a patch: null removes a member. */
const changed = (schema: object): object =>
  'properties' in schema
    ? members(
        Object.fromEntries(
          Object.entries(schema.properties as Record<string, object>).map(([name, member]) => [
            name,
            { anyOf: [changed(member), { type: 'null' }] },
          ]),
        ),
      )
    : schema;

/** The parts of a document or a patch, for a description that has them at the pointer. */
export const themeParts = (pointer: string): object =>
  JSON.parse(
    JSON.stringify({
      ...DEFS,
      document: { properties: MEMBERS },
      change: changed({ properties: MEMBERS }),
    }).replaceAll('"#/$defs/', `"${pointer}/`),
  ) as object;

export type DefinedKind = keyof typeof DEFS;

export const isDefined = (name: string | undefined): name is DefinedKind =>
  name !== undefined && Object.hasOwn(DEFS, name);
