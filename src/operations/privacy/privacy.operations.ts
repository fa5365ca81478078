import * as z from 'zod';
import { isLedgerMode } from '../../domain/scope.js';
import { accountProjectors } from '../../../projections/account-projectors.js';
import { RepeatErasureEnvelope } from '../../command-handling/commands.js';
import {
  subjectsOf,
  type ListedErasure,
} from '../../command-handling/processes/erasure-process.js';
import { logPages } from '../../event-log/event-pages.js';
import { accountRefOf } from '../../privacy/keyed-names.js';
import { scrub } from '../../privacy/scrub.js';
import { ScrubbedGenerations } from '../../projecting/generations/scrubbed-generations.js';
import { customerStreams, replayErasures } from '../../stores/erasure-replay.js';
import { countOtherReleases } from '../../stores/release.js';
import { actorOf } from '../audit.js';
import { given } from '../registry/members.js';
import { type Operation, serviceOperation } from '../registry/operation.js';
import { notDone } from '../outcome.js';

const PAGE = 1_000;

export const operations: readonly Operation[] = [
  serviceOperation({
    name: 'privacy scrub',
    summary: 'removes erased bytes from the files of Postgres now; a job does it daily',
    examples: ['privacy scrub'],
    run: async ({ core: { log }, operationsPool, note }) => {
      const pool = operationsPool();
      const readModels = new ScrubbedGenerations({
        pool,
        log,
        readModels: accountProjectors,
        otherProcesses: (db) => countOtherReleases(db, accountProjectors),
      });
      const scrubbed = await scrub(pool, { readModels, progress: note });
      if (!scrubbed.walRemoved)
        note(
          'This role may not switch the write-ahead log: the server removes old segments as configured.',
        );
      return scrubbed;
    },
    said: ({ tables }) => `${tables} tables rewritten`,
  }),
  serviceOperation({
    name: 'privacy replay-erasures',
    summary: 'repeats the erasures in the log; after a restore, before the service is started',
    members: {
      from: given(z.unknown().optional(), {
        file: 'json',
        help: 'the output of list-erasures of a newer copy of the log: missing erasures are appended',
      }),
    },
    isRecorded: true,
    examples: ['privacy replay-erasures --from erasures.json'],
    run: async ({ core, by }, { from = [] }) => {
      const listed = erasuresIn(from);
      const { destroyed, events } = await replayErasures(core.pool, core.log, core.keys, {
        fromStart: true,
      });
      const subjects = new Set(listed.flatMap(subjectsOf));
      const keys = [...(await core.keys.load(subjects)).values()];
      const alive = keys.filter((key) => key !== null).length;
      const customers = listed.flatMap(({ customer }) => customer ?? []);
      const streams = await customerStreams(core.log, new Set(customers));
      for (const erasure of listed) {
        const stream = streams.get(erasure.customer ?? '');
        const actor = actorOf(core, erasure, by);
        const { erasureId: id } = erasure;
        const cause = { correlationId: id, causationId: id, actor, idempotency: null };
        await core.commands.execute(new RepeatErasureEnvelope(cause, erasure, stream));
      }
      await core.followedLog.hideUntilCaughtUp();
      return { events, destroyed: destroyed + alive };
    },
    said: ({ events, destroyed }) => `${events} events read, ${destroyed} keys destroyed`,
  }),
  serviceOperation({
    name: 'privacy list-erasures',
    summary: 'the recorded erasures as a JSON array, without personal data',
    examples: ['privacy list-erasures > erasures.json'],
    run: async ({ core: { log, codec } }) => {
      const all: ListedErasure[] = [];
      for await (const page of logPages(log, { upTo: await log.head(), limit: PAGE })) {
        const requested = page.filter(({ type }) => type === 'ErasureRequested');
        for (const { event, envelope, recorded } of await codec.decodeAll(requested)) {
          if (event.type !== 'ErasureRequested' || envelope.mode === null) continue;
          const { type: _type, at: _at, ...erasure } = event;
          const { tenant, mode } = envelope;
          const accountRef = accountRefOf(recorded.stream) ?? '';
          all.push({ tenant, mode, accountRef, ...erasure });
        }
      }
      return all;
    },
  }),
];

const LISTED = z.object({
  tenant: z.string(),
  mode: z.string().refine(isLedgerMode),
  accountRef: z.string().regex(/^[0-9a-f]{32}$/),
  erasureId: z.uuid(),
  persons: z.array(z.uuid()),
  account: z.uuid().nullable(),
  customer: z.uuid().exactOptional(),
  suppressed: z.array(z.string().regex(/^[0-9a-f]{32}$/)),
});

/** All of them are read before the first is applied. @throws {NotDone} */
function erasuresIn(content: unknown): readonly ListedErasure[] {
  const parsed = z.array(LISTED).safeParse(content);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw notDone(`/${issue?.path.join('/') ?? ''} is no erasure as list-erasures writes them`);
}
