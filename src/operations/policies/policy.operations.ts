import * as z from 'zod';
import { limit, text, help, given } from '../registry/members.js';
import { serviceOperation, type Operation } from '../registry/operation.js';
import { retryParkedReactions, showParked, skipParkedReaction } from './policy-commands.js';

const id = help(text, 'the id of the reaction');

/** Also started by the console. */
export const retryReactions = serviceOperation({
  name: 'policy retry',
  summary: 'retries parked reactions, with or without a running service',
  members: {
    id: id.optional(),
    all: given(z.boolean().optional(), { only: 'cli', help: 'all parked reactions' }),
  },
  positions: ['id'],
  rules: [
    {
      check: ({ id: one, all }) =>
        one !== undefined && all ? 'name one reaction, or say {all}' : undefined,
      schema: {},
    },
  ],
  roles: ['support'],
  isLong: true,
  route: { method: 'POST', path: 'policies/retry', refusals: ['REACTION_NOT_PARKED'] },
  examples: ['policy retry', 'policy retry 17'],
  run: ({ core, signal, onProgress }, { id: one }) =>
    retryParkedReactions(core, one, {
      signal,
      onProgress: (retried) => onProgress('retrying', retried),
    }),
  said: ({ retried, done, parked }) =>
    `${retried} tried again: ${done} done, ${parked} still parked`,
});

export const policyOperations: readonly Operation[] = [
  serviceOperation({
    name: 'policy parked',
    summary: 'reactions that failed for good and streams that cannot be read, oldest first',
    members: { limit: limit(1_000) },
    roles: ['support'],
    route: { method: 'GET', path: 'policies/parked' },
    examples: ['policy parked --json'],
    columns: [
      ['id', 'id'],
      ['policy', 'policy'],
      ['event', 'eventId'],
      ['position', 'position'],
      ['reason', 'reason'],
      ['since', 'since'],
    ],
    empty: 'nothing is parked',
    run: ({ core }, { limit: most }) => showParked(core, most),
  }),
  retryReactions,
  serviceOperation({
    name: 'policy skip',
    summary: 'ends a parked reaction without running it',
    members: { id, reason: help(text, 'why') },
    positions: ['id'],
    roles: ['support'],
    isRecorded: true,
    route: { method: 'POST', path: 'policies/{id}/skip', refusals: ['REACTION_NOT_PARKED'] },
    examples: ['policy skip 17 --reason "sent by hand, ticket 4711"'],
    run: ({ core, by, signal, warn }, { id: one, reason }) =>
      skipParkedReaction(core, one, { by, reason, signal, warn }),
    said: ({ id: skipped, policy, eventId }) => `skipped ${skipped}: ${policy}, event ${eventId}`,
  }),
];
