import { MAIL_TYPES, WIDGET_TYPES } from './theme-instance.js';

/**
 * Theme variables, as a JSON Schema that tenants see. `$defs` name what ajv cannot check: texts
 * that are templates, and addresses (theme-faults.ts).
 */

const ref = (name: keyof typeof DEFS) => ({ $ref: `#/$defs/${name}` });
const members = (properties: object) => ({ type: 'object', properties });

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
      '^(?:Times New Roman|Arial|Courier|Tahoma|Verdana|Georgia|["\']?(?:Helvetica Neue|Lato)["\']?(?: ?, ?["\']?[A-Za-z][A-Za-z -]*["\']?)*)$',
  },
  label: { description: 'One line; no template', type: 'string', maxLength: 255 },
  sender: { description: 'A name on one line; no template', type: 'string', maxLength: 255 },
  address: {
    description: 'An e-mail address; no template',
    type: 'string',
    format: 'email',
    minLength: 5,
    maxLength: 320,
  },
  markdown: { description: 'A template, in markdown', type: 'string' },
  markdownText: { description: 'A template, in markdown, not empty', type: 'string', minLength: 1 },
  line: { description: 'A template of one line', type: 'string', minLength: 1, maxLength: 1000 },
  message: { description: 'A template; no markdown', type: 'string', minLength: 4 },
  image: {
    description: 'The absolute address of an image, or empty',
    type: 'string',
    maxLength: 2000,
  },
  site: {
    description: 'The absolute address of a site, or empty',
    type: 'string',
    maxLength: 2000,
  },
  addressPattern: { description: 'A pattern of addresses', type: 'string', maxLength: 2000 },
} as const;

const widgetType = { enum: WIDGET_TYPES };

const customization = {
  widgetFont: ref('font'),
  headerColor: ref('color'),
  heading: ref('markdownText'),
  headerDetails: ref('markdownText'),
};

const callToAction = members({
  content: members({
    buttonSide: { enum: ['left', 'right', 'center'] },
    buttonPosition: { enum: ['top', 'bottom', 'middle'] },
    buttonColor: ref('color'),
    buttonText: ref('markdown'),
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
      shareCodeDetails: ref('markdown'),
      registrationHeader: ref('markdown'),
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
      buttonCopy: ref('markdownText'),
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

export const THEME_SCHEMA = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  title: 'Theme variables',
  type: 'object',
  required: ['jsOptions', 'widget', 'email'],
  properties: { jsOptions, widget: widgets, email, page },
  $defs: DEFS,
} as const;

/** What the schema names a member by. */
export type DefinedKind = keyof typeof DEFS;
