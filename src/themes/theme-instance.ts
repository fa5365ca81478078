import type { BUILT_IN_THEME } from './built-in-theme.js';

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

/** Variables for texts: user, other party of the referral, reward in words, code and link. */
export const THEME_VARIABLES: readonly string[] = [
  'user.firstName',
  'user.lastName',
  'friend.name',
  'reward.text',
  'code',
  'shareLink',
];

/**
 * All values of a theme for mails, share pages and widgets. Texts are markdown templates with
 * `THEME_VARIABLES`, except for the kinds that theme-schema.ts defines.
 */
export type ThemeInstance = typeof BUILT_IN_THEME;

/** `configuration` applies to all mails; other members to one type each. */
export type EmailTheme = ThemeInstance['email'];

export type MailContent = EmailTheme[MailType]['content'];

/** The page behind a share link. `friend` is the person who shared it. */
export type PageTheme = ThemeInstance['page'];
