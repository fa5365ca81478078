import type { Core } from '../../stores/core.js';
import { MailPlans } from '../../mails/mail-plans.js';
import { PaymentNotes } from '../../payments/incoming/payment-notes.js';
import { providerRows } from '../../payments/incoming/payment-rows.js';
import { RewardPayments } from '../../payments/outgoing/reward-payments.js';
import { addJob, type Job } from '../../work-queue/jobs.js';
import { moveWork, workStore } from '../../work-queue/work-items.js';
import { LedgerDates } from '../../reacting/ledger-dates.js';
import { forgetTestData } from '../tenants/forget-test-data.js';
import { type ParkedReaction, WEBHOOKS_HANDLER } from '../../reacting/parked-reactions.js';
import {
  type ParkedReactions,
  PostgresParkedReactions,
} from '../../reacting/postgres-parked-reactions.js';
import { POLICIES } from '../../policies/policies.js';
import { carryOutReactions } from '../../reacting/reactions.js';
import { type RetryParts, retryStream } from '../../reacting/retry-stream.js';
import { Retries } from '../../reacting/retries.js';
import { decodeAny } from '../../projecting/decode-events.js';
import type { Scope } from '../../domain/scope.js';
import { scopeOfStream } from '../../privacy/keyed-names.js';
import { postgresAnnouncementsStore } from '../../webhooks/deliveries/announcements-store.js';
import { AnnouncementsHandler } from '../../webhooks/deliveries/announcements-handler.js';
import { staffSays } from '../audit.js';
import { auditedOn } from '../audited.js';
import { NotDone, quoted } from '../outcome.js';
import * as z from 'zod';
import { given, help, limit, text } from '../registry/members.js';
import { type Operation, serviceOperation } from '../registry/operation.js';
import { get, post } from '../registry/routes.js';

/**
 * Operations on parked reactions and announcements: each returns the document that `--json` prints.
 */

export type ShownParkedReaction = ReturnType<typeof shown>;

const PAGE = 500;

/** The oldest entries. */
export const showParked = async ({ pool }: Pick<Core, 'pool'>, limit: number) =>
  (await new PostgresParkedReactions(pool).list({ limit })).map(shown);

const notParked = (line: string): NotDone => new NotDone('REACTION_NOT_PARKED', [line]);

/** @throws {NotDone} for an id that no parked reaction can have. */
function checkId(id: string): void {
  if (!/^[1-9]\d{0,17}$/.test(id))
    throw notParked(`${quoted(id)} is no id of a parked reaction: see policy parked`);
}

/** Whose ledger records the skip. An event of a tenant's own stream belongs to its live mode. */
async function scopeOf(
  { log, codec }: Core,
  { stream }: ParkedReaction,
): Promise<Scope | undefined> {
  const scope = scopeOfStream(stream);
  if (scope !== undefined) return scope;
  for await (const recorded of log.readStream(stream)) {
    const [decoded] = await decodeAny(codec)([recorded]);
    if (decoded && 'tenant' in decoded) return { tenant: decoded.tenant, mode: 'live' };
  }
  return undefined;
}

const isAnnouncement = ({ policy }: ParkedReaction): boolean => policy === WEBHOOKS_HANDLER;

const announcementsOf = ({ pool, log, codec, streams, names, logger, webhooks }: Core) =>
  new AnnouncementsHandler({
    store: postgresAnnouncementsStore(pool),
    log,
    decode: decodeAny(codec),
    streams,
    names,
    logger,
    receivedTypes: (scope) => webhooks.receivedTypes(scope),
    translate: () => Promise.resolve(undefined),
  });

/** Commands go through this process's command bus, jobs into the queue. */
function partsOf(
  { pool, log, codec, commands, streams, names, tenants, logger }: Core,
  parked: ParkedReactions,
): RetryParts {
  const queue = { add: (job: Job) => addJob(workStore(pool), job) };
  const carryOut = carryOutReactions(commands, queue, streams, {
    dates: new LedgerDates({ tenants, move: (...to) => moveWork(pool, ...to) }),
    forgetTestData: (...of) => forgetTestData(pool, ...of),
    providers: new PaymentNotes(providerRows(pool), names),
    payments: new RewardPayments({ work: workStore(pool), tenants, streams }),
    // Sent by a service.
    mails: new MailPlans({ pool, tenants, onPlanned: () => undefined }),
  });
  const decode = decodeAny(codec);
  return { parked, log, carryOut, policies: POLICIES, decode, logger };
}

const shown = ({ id, policy, eventId, position, reason, since }: ParkedReaction) => ({
  id,
  /**
   * The policy whose reactions wait from this event on; `*`: all policies, since the event cannot
   * be read; `webhooks`: its webhooks.
   */
  policy,
  eventId,
  position,
  reason,
  since: since.toISOString(),
});

const ID = help(text, 'the id of the reaction');

/**
 * Each stream is processed to its end, once; a service that does the same at the same time causes
 * no second effect. Also started by the console.
 */
export const retryReactions = serviceOperation({
  name: 'policy retry',
  summary: 'retries parked reactions, with or without a running service',
  members: {
    id: ID.optional(),
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
  run: async ({ core, signal, onProgress }, { id }) => {
    if (id !== undefined) checkId(id);
    // Fails here when this database follows another log.
    await core.log.id();
    const parked = new PostgresParkedReactions(core.pool);
    const retries = new Retries(partsOf(core, parked));
    // `parked`: those that are still so, at the same or a later event.
    let result = { retried: 0, done: 0, parked: 0 };
    for (let after = '0'; !signal.aborted;) {
      const rows = await parked.list({ ...(id === undefined ? {} : { id }), after, limit: PAGE });
      const last = rows.at(-1);
      if (last === undefined) break;
      await announcementsOf(core).retry(rows.filter(isAnnouncement));
      const reactions = rows.filter((row) => !isAnnouncement(row));
      await retries.streams([...new Set(reactions.map(({ stream }) => stream))], signal);
      const still = await parked.present(rows.map((row) => row.id));
      result = {
        retried: result.retried + rows.length,
        done: result.done + rows.length - still,
        parked: result.parked + still,
      };
      onProgress('retrying', result.retried);
      after = last.id;
    }
    if (id !== undefined && result.retried === 0) throw notParked(`nothing is parked under ${id}`);
    return result;
  },
  said: ({ retried, done, parked }) =>
    `${retried} tried again: ${done} done, ${parked} still parked`,
});

/** Runs those of its policy behind it. An audit event records who did it and why. */
export const skipReaction = serviceOperation({
  name: 'policy skip',
  summary: 'ends a parked reaction without running it',
  members: { id: ID, reason: help(text, 'why') },
  positions: ['id'],
  roles: ['support'],
  isRecorded: true,
  route: post('policies/{id}/skip', 'REACTION_NOT_PARKED'),
  examples: ['policy skip 17 --reason "sent by hand, ticket 4711"'],
  run: async ({ core, by, signal, warn }, { id, reason }) => {
    checkId(id);
    await core.log.id();
    const parked = new PostgresParkedReactions(core.pool);
    const [row] = await parked.list({ id, limit: 1 });
    const scope = row && (await scopeOf(core, row));
    if (row === undefined || scope === undefined) throw notParked(`nothing is parked under ${id}`);
    const frame = { scope, by, operation: 'policy skip', warn };
    return auditedOn(core, frame, async (_, meta) => {
      if (isAnnouncement(row)) await parked.drop(row);
      else await retryStream({ ...partsOf(core, parked), skipped: row }, row.stream, signal);
      const [left] = await parked.list({ id, limit: 1 });
      if (left?.eventId === row.eventId)
        throw new Error('the reaction is being retried: try again');
      await parked.forgetRetried(row);
      const { policy, eventId } = row;
      return {
        result: shown(row),
        parameters: { id, policy, eventId },
        reason: staffSays(meta, reason),
        completed: `the reaction ${id} is skipped`,
      };
    });
  },
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
