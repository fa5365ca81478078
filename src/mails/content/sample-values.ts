import type { TemplateValues } from '../../templates/render-template.js';
import { rewardInWords } from '../../themes/reward-in-words.js';

const REWARD = { type: 'CREDIT', unit: 'CENTS', assignedCredit: 1000, currency: 'USD' } as const;

export const sampleValues = (
  locale: string,
  shareLink: (code: string) => string,
): TemplateValues => ({
  'user.firstName': 'Ann',
  'user.lastName': 'Lee',
  'friend.name': 'Bob R',
  'reward.text': rewardInWords(REWARD, locale, { formats: [] }),
  code: 'ANNLEE',
  shareLink: shareLink('ANNLEE'),
});
