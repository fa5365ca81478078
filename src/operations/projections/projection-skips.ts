import { personal } from '../../domain/personal.js';
import type { Mode } from '../../domain/scope.js';
import { ledgerOf } from '../../domain/tenant/test-clock.js';
import { accountRefOf } from '../../privacy/keyed-names.js';
import { skippedEvents } from '../../projecting/checkpoints.js';
import {
  GenerationRefused,
  GenerationsOf,
} from '../../projecting/generations/generation-records.js';
import { repair } from '../../projecting/generations/repair.js';
import type { Projector } from '../../projecting/projector.js';
import { memberOfStaff, recordDone } from '../audit.js';
import { notDone, tenantNotFound } from '../outcome.js';
import { showParkedStreams, type ShownParkedStream } from './projection-commands.js';
import { recorded, type ProjectionOperator } from './projection-operator.js';
import { scopeOfParked } from './projection-repairs.js';

/** A parked stream, or the account whose stream it is, and why its event is skipped. */
export interface SkipRequest {
  readonly tenant?: string | undefined;
  readonly account?: string | undefined;
  readonly mode: Mode;
  readonly stream?: string | undefined;
  readonly reason: string;
}

/**
 * Lets a parked stream continue without the event that cannot be applied: its rows are made anew
 * from the log, without that event. The history and the log of its tenant record operator and
 * reason. The next generation tries the event again.
 * @returns the stream as it was parked. @throws {NotDone}
 */
export async function skipParkedEvent(
  operator: ProjectionOperator,
  projector: Projector,
  { reason, ...named }: SkipRequest,
  onPage?: (events: number, last: string) => void,
): Promise<ShownParkedStream> {
  const { parts, by, warn } = operator;
  const { name: projection } = projector;
  const stream = await streamNamed(operator, named);
  const find = async () =>
    (await showParkedStreams({ parts: { ...parts, projectors: [projector] } }, 1, stream))[0];
  const parked = await find();
  if (!parked)
    throw notDone(`there is no such parked stream of ${projection}: see projection parked`);
  const { tenant, mode, position } = parked;
  const accountRef = accountRefOf(stream);
  const where = { ...(tenant && mode && { tenant, mode }), ...(accountRef && { accountRef }) };
  await recorded(
    operator,
    { action: 'skip', projectors: [projector], where },
    async (client, signal) => {
      if ((await find())?.position !== position)
        throw new GenerationRefused('the stream was retried meanwhile: see `projection parked`');
      const { live } = await GenerationsOf.read(client, parts.log, projector);
      const before = (await skippedEvents(client, live)).filter((each) => each.stream === stream);
      const [repaired] = await repair(
        { ...parts, client },
        [projector],
        { ...scopeOfParked(new Set([stream])), skips: [...before, { stream, position }] },
        { signal, ...(onPage && { onPage }) },
      );
      const details = { position, reason, parked: repaired?.parked };
      return { document: parked, ends: [{ projection, generation: live.generation, details }] };
    },
  );
  if (tenant !== null && mode !== null) {
    const scope = { tenant, mode };
    await recordDone(
      operator,
      scope,
      {
        operation: 'projection skip',
        by,
        parameters: { projection, account: accountRef, position },
        result: parked,
        reason: personal(memberOfStaff(operator.names, scope, by.name).subject, reason),
      },
      { completed: 'the event is skipped', warn },
    );
  }
  return parked;
}

async function streamNamed(
  { names, tenants }: ProjectionOperator,
  { tenant, account, mode, stream }: Omit<SkipRequest, 'reason'>,
): Promise<string> {
  if (stream !== undefined && tenant === undefined && account === undefined) return stream;
  if (tenant === undefined || account === undefined || stream !== undefined)
    throw notDone((word) => `name ${word('tenant')} and ${word('account')}, or ${word('stream')}`);
  const owner = await tenants.find(tenant);
  if (!owner) throw tenantNotFound(tenant);
  const scope = ledgerOf(owner, mode);
  return names.accountStream(scope, names.accountRef(scope, account));
}
