import { durationText } from '../../foundation/duration.js';
import { help, text } from '../registry/members.js';
import { type Operation, serviceOperation } from '../registry/operation.js';
import { acceptClock } from './clock-acceptance.js';

export const operations: readonly Operation[] = [
  serviceOperation({
    name: 'log accept-clock',
    summary: 'accepts a log whose newest entry is ahead of the clock, so that writes continue',
    members: { reason: help(text, 'what happened, for later auditors') },
    isRecorded: true,
    acceptsClock: true,
    examples: ['log accept-clock --reason "the clock was a day ahead on 1 May" --by sam'],
    run: acceptClock,
    said: ({ position, aheadSeconds }) =>
      `accepted: the newest entry, ${position}, is ${durationText(aheadSeconds * 1_000)} ahead of the clock; later entries carry the time of the clock`,
  }),
];
