import { answer, answerOf, described, text } from './answer-members.js';

export const ENGAGEMENT_MEDIA = ['EMBED', 'POPUP', 'HOSTED', 'MOBILE', 'EMAIL', 'UNKNOWN'] as const;
export type EngagementMedium = (typeof ENGAGEMENT_MEDIA)[number];

export const SHARE_MEDIA = [
  'EMAIL',
  'FACEBOOK',
  'TWITTER',
  'PINTEREST',
  'WHATSAPP',
  'LINEMESSENGER',
  'FBMESSENGER',
  'SMS',
  'LINKEDIN',
  'DIRECT',
  'UNKNOWN',
] as const;
export type ShareMedium = (typeof SHARE_MEDIA)[number];

const MEDIUM = {
  shareLink: text,
  facebookShareLink: text,
  twitterShareLink: text,
  emailShareLink: text,
  linkedinShareLink: text,
};

export class MediumLinksResponse extends answerOf(MEDIUM) {}

export class ShareLinksResponse extends answerOf({
  ...MEDIUM,
  mobileShareLink: text,
  mobileFacebookShareLink: text,
  mobileTwitterShareLink: text,
  mobileEmailShareLink: text,
  EMBED: answer(MediumLinksResponse),
  POPUP: answer(MediumLinksResponse),
  HOSTED: answer(MediumLinksResponse),
  MOBILE: answer(MediumLinksResponse),
  EMAIL: answer(MediumLinksResponse),
}) {}

class DirectLinkResponse extends answerOf({ DIRECT: text }) {}

export class ProgramShareLinksResponse extends answerOf({
  cleanShareLink: text,
  MOBILE: answer(DirectLinkResponse),
  EMAIL: answer(DirectLinkResponse),
  UNKNOWN: answer(DirectLinkResponse),
}) {}

type ShareUrls = { readonly cleanShareLink: string } & {
  readonly [E in EngagementMedium]?: { readonly [S in ShareMedium]?: string };
};

export class ShareUrlsResponse extends answerOf({
  shareLinks: described<ShareUrls>({
    type: 'object',
    properties: { cleanShareLink: { type: 'string' } },
    required: ['cleanShareLink'],
    additionalProperties: { type: 'object', additionalProperties: { type: 'string' } },
  }),
}) {}
