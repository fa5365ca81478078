/** The kinds of mail that a theme has texts for. */
export const MAIL_TYPES = [
  'REFERRAL_STARTED',
  'REFERRAL_CONVERTED',
  'REFERRER_REWARD_LIMIT_REACHED',
  'REWARD_EARNED',
  'REWARD_EXPIRES_SOON',
  'WELCOME',
] as const;
export type MailType = (typeof MAIL_TYPES)[number];

export const isMailType = (text: string): text is MailType =>
  MAIL_TYPES.some((type) => type === text);

export const WIDGET_TYPES = ['REFERRER_WIDGET', 'CONVERSION_WIDGET'] as const;
export type WidgetType = (typeof WIDGET_TYPES)[number];

/**
 * The variables of a theme's texts: those of the user who is addressed, the other party of the
 * referral, the reward in words, the user's code and its link.
 */
export const THEME_VARIABLES: readonly string[] = [
  'user.firstName',
  'user.lastName',
  'friend.name',
  'reward.text',
  'code',
  'shareLink',
];

/**
 * All values of a theme, as mails, the page behind a share link and widgets use them. Texts are
 * templates in markdown with `THEME_VARIABLES`, unless said otherwise. Colours are `#rgb` or
 * `#rrggbb`. Addresses of images and of the site are absolute, or empty for none.
 */
export interface ThemeInstance {
  readonly jsOptions: JsOptions;
  readonly widget: WidgetTheme;
  readonly email: EmailTheme;
  readonly page: PageTheme;
}

export interface JsOptions {
  readonly widget: { readonly defaultWidgetType: WidgetType };
  /** Patterns of addresses. */
  readonly conversionUrls: readonly string[];
  readonly widgetUrlMappings: readonly WidgetUrlMapping[];
}

export interface WidgetUrlMapping {
  /** A pattern. */
  readonly url?: string;
  readonly showAsCTA?: boolean;
  readonly displayOnLoad?: boolean;
  readonly widgetType?: WidgetType;
}

export interface WidgetTheme {
  readonly REFERRER_WIDGET: {
    readonly configuration: { readonly themeMapping: string };
    readonly content: {
      readonly widgetCustomization: WidgetCustomization & {
        readonly shareCodeDetails: string;
        readonly registrationHeader: string;
      };
      readonly shareMessaging: ShareMessaging;
    };
    readonly cta: { readonly content: CallToAction };
  };
  readonly CONVERSION_WIDGET: {
    readonly configuration: { readonly themeMapping: string };
    readonly content: {
      readonly widgetCustomization: WidgetCustomization & {
        readonly widgetHeaderImage: string;
        readonly buttonCopy: string;
      };
    };
    readonly cta: { readonly content: CallToAction };
  };
}

export interface WidgetCustomization {
  readonly widgetFont: string;
  readonly headerColor: string;
  readonly heading: string;
  readonly headerDetails: string;
}

/** What a user sends to friends: plain text, no markdown. */
export interface ShareMessaging {
  readonly emailShareSubject: string;
  readonly emailShareBody: string;
  readonly facebookShareSubject: string;
  readonly facebookShareBody: string;
  readonly twitterShareBody: string;
  readonly smsShareBody: string;
  readonly facebookShareImageURL: string;
}

export interface CallToAction {
  readonly buttonSide: 'left' | 'right' | 'center';
  readonly buttonPosition: 'top' | 'bottom' | 'middle';
  readonly buttonColor: string;
  readonly buttonText: string;
  /** Pixels. */
  readonly buttonWidth: number;
}

/** `configuration` is that of every mail; the others are one for each type. */
export type EmailTheme = Readonly<Record<MailType, MailTheme>> & {
  readonly configuration: {
    /** Not a template. One line. */
    readonly fromName: string;
    /** Undefined: the service's own. */
    readonly fromAddress?: string;
  };
};

export interface MailTheme {
  readonly configuration: {
    /** One line; no markdown. */
    readonly subject: string;
    readonly themeMapping: string;
  };
  readonly content: MailContent;
}

export interface MailContent {
  readonly headerImageUrl: string;
  readonly headerContent: string;
  readonly bodyContent: string;
  readonly footer: string;
  /** Above the link to share, where there is one. */
  readonly shareCTA: string;
  /** Whether the mail shows the user's own link to share. */
  readonly hasShareLink: boolean;
  /** The words on the button. */
  readonly shareButtonHeader: string;
}

/** The page behind a share link. `friend` is the person who shared it. */
export interface PageTheme {
  readonly heading: string;
  readonly text: string;
  readonly buttonText: string;
  /** Where the button leads; empty: there is no button. */
  readonly siteUrl: string;
  readonly logoUrl: string;
  readonly color: string;
}
