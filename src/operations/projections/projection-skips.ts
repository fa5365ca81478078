import { personal } from '../../domain/personal.js';
import { scopeOfMode, type Mode } from '../../domain/scope.js';
import { ledgerOf } from '../../domain/tenant/test-clock.js';
import { accountRefOf, scopeOfStream } from '../../privacy/keyed-names.js';
import { skippedEvents } from '../../projecting/checkpoints.js';
import {
  GenerationRefused,
  GenerationsOf,
} from '../../projecting/generations/generation-records.js';
import { repair } from '../../projecting/generations/repair.js';
import { memberOfStaff, recordDone } from '../audit.js';
import { notDone, tenantNotFound } from '../outcome.js';
import { help, mode, text } from '../registry/members.js';
import { serviceOperation } from '../registry/operation.js';
import { post } from '../registry/routes.js';
import { showParkedStreams, type ShownParkedStream } from './projection-commands.js';
import { CHANGE, onNamedModel, projection, reading } from './projection-members.js';
import { recorded, type ProjectionOperator } from './projection-operator.js';
import { scopeOfParked } from './projection-repairs.js';

/**
 * Its rows are made anew from the log, without that event. The history and the log of its tenant
 * record operator and reason. The next generation tries the event again.
 */
export const skip = serviceOperation({
  name: 'projection skip',
  summary: 'lets a parked stream continue without the event that cannot be applied',
  members: {
    projection,
    tenant: help(text.optional(), 'the tenant of the account'),
    account: help(text.optional(), 'the account of the parked stream'),
    mode,
    stream: help(text.optional(), 'the stream, instead of tenant and account'),
    reason: help(text, 'why'),
  },
  positions: ['projection'],
  rules: [
    {
      schema: {
        oneOf: [{ required: ['tenant', 'account'] }, { required: ['stream'] }],
        dependentRequired: { tenant: ['account'], account: ['tenant'] },
      },
    },
  ],
  ...CHANGE,
  parameters: ({ projection: name, account: one, reason }) => ({
    projection: name,
    account: one,
    reason,
  }),
  route: post('projections/{projection}/skip', 'PROJECTION_UNKNOWN', 'TENANT_NOT_FOUND'),
  examples: ['projection skip rewards --tenant acme --account 42 --reason "ticket 4711"'],
  run: (context, { projection: name, reason, ...named }): Promise<ShownParkedStream> =>
    onNamedModel(context, name, async (operator, projector) => {
      const { parts, by, warn } = operator;
      const stream = await streamNamed(operator, named);
      const find = async () =>
        (await showParkedStreams({ parts: { ...parts, projectors: [projector] } }, 1, stream))[0];
      const parked = await find();
      if (!parked)
        throw notDone(`there is no such parked stream of ${name}: see projection parked`);
      const { position } = parked;
      const ledger = scopeOfStream(stream);
      const scope = ledger && scopeOfMode(ledger);
      const accountRef = accountRefOf(stream);
      const where = { ...scope, ...(accountRef && { accountRef }) };
      const change = { action: 'skip', projectors: [projector], where } as const;
      await recorded(operator, change, async (client, signal) => {
        if ((await find())?.position !== position)
          throw new GenerationRefused('the stream was retried meanwhile: see `projection parked`');
        const { live } = await GenerationsOf.read(client, parts.log, projector);
        const before = (await skippedEvents(client, live)).filter((one) => one.stream === stream);
        const skips = [...before, { stream, position }];
        const part = { ...scopeOfParked(new Set([stream])), skips };
        const [repaired] = await repair({ ...parts, client }, [projector], part, {
          signal,
          onPage: reading(context),
        });
        const details = { position, reason, parked: repaired?.parked };
        const end = { projection: name, generation: live.generation, details };
        return { document: parked, ends: [end] };
      });
      if (scope !== undefined) {
        const done = {
          operation: 'projection skip',
          by,
          parameters: { projection: name, account: accountRef, position },
          result: parked,
          reason: personal(memberOfStaff(operator.names, scope, by.name).subject, reason),
        };
        await recordDone(operator, scope, done, { completed: 'the event is skipped', warn });
      }
      return parked;
    }),
});

interface AskedStream extends Partial<Record<'tenant' | 'account' | 'stream', string | undefined>> {
  readonly mode: Mode;
}

/** @throws {NotDone} */
async function streamNamed(
  { names, tenants }: ProjectionOperator,
  { tenant, account, stream, mode: ofMode }: AskedStream,
): Promise<string> {
  if (stream !== undefined && tenant === undefined && account === undefined) return stream;
  if (tenant === undefined || account === undefined || stream !== undefined)
    throw notDone((word) => `name ${word('tenant')} and ${word('account')}, or ${word('stream')}`);
  const owner = await tenants.find(tenant);
  if (!owner) throw tenantNotFound(tenant);
  const scope = ledgerOf(owner, ofMode);
  return names.accountStream(scope, names.accountRef(scope, account));
}
