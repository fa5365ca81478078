import type { BUILT_IN_THEME } from './built-in-theme.js';

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
 * templates in markdown with `THEME_VARIABLES`; theme-schema.ts says which are one line, plain
 * text, a colour (`#rgb` or `#rrggbb`) or an address (absolute, or empty for none).
 */
export type ThemeInstance = typeof BUILT_IN_THEME;

/** `configuration` is that of every mail; the others are one for each type. */
export type EmailTheme = ThemeInstance['email'];

export type MailContent = EmailTheme[MailType]['content'];

/** The page behind a share link. `friend` is the person who shared it. */
export type PageTheme = ThemeInstance['page'];
