import { ApiProperty } from '@nestjs/swagger';
import { Text } from './answer-members.js';

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

export class MediumLinksResponse {
  @Text()
  shareLink: string;
  @Text()
  facebookShareLink: string;
  @Text()
  twitterShareLink: string;
  @Text()
  emailShareLink: string;
  @Text()
  linkedinShareLink: string;
}

export class ShareLinksResponse extends MediumLinksResponse {
  @Text()
  mobileShareLink: string;
  @Text()
  mobileFacebookShareLink: string;
  @Text()
  mobileTwitterShareLink: string;
  @Text()
  mobileEmailShareLink: string;
  @ApiProperty({ type: MediumLinksResponse })
  EMBED: MediumLinksResponse;
  @ApiProperty({ type: MediumLinksResponse })
  POPUP: MediumLinksResponse;
  @ApiProperty({ type: MediumLinksResponse })
  HOSTED: MediumLinksResponse;
  @ApiProperty({ type: MediumLinksResponse })
  MOBILE: MediumLinksResponse;
  @ApiProperty({ type: MediumLinksResponse })
  EMAIL: MediumLinksResponse;
}

class DirectLinkResponse {
  @Text()
  DIRECT: string;
}

export class ProgramShareLinksResponse {
  @Text()
  cleanShareLink: string;
  @ApiProperty({ type: DirectLinkResponse })
  MOBILE: DirectLinkResponse;
  @ApiProperty({ type: DirectLinkResponse })
  EMAIL: DirectLinkResponse;
  @ApiProperty({ type: DirectLinkResponse })
  UNKNOWN: DirectLinkResponse;
}

export class ShareUrlsResponse {
  @ApiProperty({
    type: 'object',
    properties: {
      cleanShareLink: { type: 'string' },
    },
    required: ['cleanShareLink'],
    additionalProperties: { type: 'object', additionalProperties: { type: 'string' } },
  })
  shareLinks: { readonly cleanShareLink: string } & {
    readonly [E in EngagementMedium]?: { readonly [S in ShareMedium]?: string };
  };
}
