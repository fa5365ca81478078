import type { TemplateValues } from '../../templates/render-template.js';

/** The values of a preview: nobody's. */
export const sampleValues = (shareLink: (code: string) => string): TemplateValues => ({
  'user.firstName': 'Ann',
  'user.lastName': 'Lee',
  'friend.name': 'Bob Ray',
  'reward.text': '10 USD',
  code: 'ANNLEE',
  shareLink: shareLink('ANNLEE'),
});
