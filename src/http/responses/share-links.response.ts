import { ApiProperty } from '@nestjs/swagger';
import { ENGAGEMENT_MEDIA, SHARE_MEDIA } from '../share-links.js';
import { Text } from './shape.js';

class MediumLinksResponse {
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
  @Text({ description: 'Says nothing of where it was shared' })
  cleanShareLink: string;
  @ApiProperty({ type: DirectLinkResponse })
  MOBILE: DirectLinkResponse;
  @ApiProperty({ type: DirectLinkResponse })
  EMAIL: DirectLinkResponse;
  @ApiProperty({ type: DirectLinkResponse })
  UNKNOWN: DirectLinkResponse;
}

const byShareMedium = {
  type: 'object' as const,
  properties: Object.fromEntries(SHARE_MEDIA.map((medium) => [medium, { type: 'string' as const }])),
  additionalProperties: false,
};

export class ShareUrlsResponse {
  @ApiProperty({
    type: 'object',
    properties: { cleanShareLink: { type: 'string' }, ...Object.fromEntries(ENGAGEMENT_MEDIA.map((medium) => [medium, byShareMedium])) },
    required: ['cleanShareLink'],
    additionalProperties: false,
    description: 'By engagement medium, then by share medium; narrowed by the query',
  })
  shareLinks: Readonly<Record<string, unknown>>;
}
