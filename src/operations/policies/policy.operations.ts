import * as z from 'zod';
import { limit, text, help, given } from '../registry/members.js';
import { type Operation, serviceOperation } from '../registry/operation.js';
import { get, post } from '../registry/routes.js';
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
  route: post('policies/retry', 'REACTION_NOT_PARKED'),
  examples: ['policy retry', 'policy retry 17'],
  run: retryParkedReactions,
  said: ({ retried, done, parked }) =>
    `${retried} tried again: ${done} done, ${parked} still parked`,
});

export const skipReaction = serviceOperation({
  name: 'policy skip',
  summary: 'ends a parked reaction without running it',
  members: { id, reason: help(text, 'why') },
  positions: ['id'],
  roles: ['support'],
  isRecorded: true,
  route: post('policies/{id}/skip', 'REACTION_NOT_PARKED'),
  examples: ['policy skip 17 --reason "sent by hand, ticket 4711"'],
  run: skipParkedReaction,
  said: ({ id: skipped, policy, eventId }) => `skipped ${skipped}: ${policy}, event ${eventId}`,
});

export const operations: readonly Operation[] = [
  serviceOperation({
    name: 'policy parked',
    summary: 'reactions that failed permanently and streams that cannot be read, oldest first',
    members: { limit: limit(1_000) },
    roles: ['support'],
    route: get('policies/parked'),
    examples: ['policy parked --json'],
    columns: ['id', 'policy', ['event', 'eventId'], 'position', 'reason', 'since'],
    empty: 'nothing is parked',
    run: ({ core }, { limit: most }) => showParked(core, most),
  }),
  retryReactions,
  skipReaction,
];
