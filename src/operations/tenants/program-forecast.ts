import { Forecast, FORECAST_TYPES, type ForecastEvent } from '../../bookkeeping/forecast.js';
import { eventRewardId } from '../../command-handling/event-reward-id.js';
import type { Scope } from '../../domain/scope.js';
import { nameEventRules } from '../../domain/tenant/event-rules.js';
import { programOf, tankCodesOf, toProgram } from '../../domain/tenant/program-document.js';
import type { ProgramDocument } from '../../domain/tenant/tenant.decider.js';
import { ownMember } from '../../domain/own-member.js';
import { logPages } from '../../event-log/event-pages.js';
import { exactSum } from '../../foundation/exact-sum.js';
import { durationMs } from '../../foundation/duration.js';
import { ledgerTime } from '../../tenants/tenant-directory.js';
import { accountRefOf } from '../../privacy/keyed-names.js';
import type { Core } from '../../stores/core.js';
import { decodeTypes, type LogReads, type Work } from '../ledger/ledger-entries.js';
import { timeOf } from '../ledger/ledger-selection.js';
import { Stopped } from '../log/log-reader.js';
import { notDoneAbout, quoted } from '../outcome.js';
import { tenantNamed } from './tenant-operation.js';

export type ProgramForecast = Awaited<ReturnType<typeof forecastProgram>>;

const TYPES: ReadonlySet<string> = new Set(FORECAST_TYPES);
const PAGE = 2_000;
const ACCOUNTS_SHOWN = 20;

/**
 * `program forecast`: the rewards that the candidate would have granted for the recorded facts,
 * next to those of the live program.
 * @param live the id of the live program; undefined: the candidate's.
 * @param since a duration or a time.
 * @throws {NotDone} {UnreadableEvent}
 */
export async function forecastProgram(
  core: LogReads & Pick<Core, 'names' | 'tenants'>,
  scope: Scope,
  request: { readonly candidate: ProgramDocument; readonly live?: string; readonly since: string },
  { onProgress, pauseForRequests, signal, now: given }: Work & { readonly now?: number },
) {
  const { log, codec, names } = core;
  const { candidate, live: liveId = candidate.id } = request;
  const tenant = await tenantNamed(core, scope.tenant);
  const live = programOf(tenant, liveId);
  if (live === null) throw notDoneAbout('live', `the tenant has no program ${quoted(liveId)}`);
  const now = given ?? ledgerTime(tenant, scope.mode);
  const since = momentOf(request.since, now);
  const applied = ownMember(tenant.programs, liveId);
  const named = { document: candidate, version: 0, eventRules: nameEventRules(candidate, applied) };
  const forecast = new Forecast({
    liveId,
    live,
    candidate: toProgram(named, false),
    codesOf: (rule) => tankCodesOf(named, rule).length,
    since,
    eventRewardId,
  });
  const [accounts, moderations] = [
    names.accountStream(scope, ''),
    names.moderationStream(scope, ''),
  ];
  let read = 0;
  for await (const page of logPages(log, { upTo: await log.head(), limit: PAGE })) {
    const own = page.filter(
      ({ stream }) => stream.startsWith(accounts) || stream.startsWith(moderations),
    );
    for (const { event, recorded } of await decodeTypes(codec, own, TYPES))
      forecast.add(accountRefOf(recorded.stream) ?? '', event as ForecastEvent);
    onProgress?.('forecasting', (read += page.length));
    await pauseForRequests?.();
    if (signal?.aborted) throw new Stopped();
  }
  const figures = ({ count, amount }: { readonly count: number; readonly amount: bigint }) => ({
    count,
    amount: exactSum(amount),
  });
  return {
    since: new Date(since).toISOString(),
    facts: forecast.facts,
    rules: forecast.byRule().map((row) => ({
      rule: row.rule,
      unit: row.unit,
      live: figures(row.live),
      candidate: figures(row.candidate),
    })),
    accounts: forecast.byAccount(ACCOUNTS_SHOWN).map((one) => ({
      ...one,
      live: exactSum(one.live),
      candidate: exactSum(one.candidate),
    })),
  };
}

/** Epoch milliseconds of a time, or of a duration before now. */
function momentOf(text: string, now: number): number {
  const ms = durationMs(text, Infinity);
  if (ms === undefined) return timeOf('since', text, now) ?? now;
  if (ms > now) throw notDoneAbout('since', (word) => `${word('since')} lies before 1970`);
  return now - ms;
}
