import type { GenerationParts } from '../../projecting/generations/catch-up.js';
import { GenerationsOf } from '../../projecting/generations/generation-records.js';
import {
  rollBack as rollBackGeneration,
  swap as swapGenerations,
} from '../../projecting/generations/switch-generations.js';
import type { Projector } from '../../projecting/projector.js';
import { notDone } from '../outcome.js';
import { serviceOperation } from '../registry/operation.js';
import { post } from '../registry/routes.js';
import {
  CHANGE,
  choice,
  ONE_OR_ALL,
  onNamedModel,
  parameters,
  projection,
  seen,
} from './projection-members.js';
import { chosenOf, onReadModels, recorded, type OperationResult } from './projection-operator.js';

/** With `all` every projection that has a new generation; otherwise the named one must have one. */
export const swap = serviceOperation({
  name: 'projection swap',
  summary: 'makes the new generation live',
  members: { ...choice, seen },
  positions: ['projection'],
  rules: [{ schema: ONE_OR_ALL }],
  ...CHANGE,
  parameters,
  route: post('projections/swap', 'PROJECTION_UNKNOWN'),
  examples: ['projection swap rewards', 'projection swap --all'],
  run: (context, { seen: observed, ...request }) =>
    onReadModels(context, async (operator) => {
      const named = chosenOf(operator, request);
      const projectors = request.all ? await waiting(operator.parts, named) : named;
      if (projectors.length === 0)
        throw notDone('no projection has a new generation: rebuild first');
      return recorded(operator, { action: 'swap', projectors }, async (client, signal) => {
        const options = { signal, seen: observed };
        return ended(await swapGenerations(operator.parts, client, projectors, options));
      });
    }),
});

export const rollBack = serviceOperation({
  name: 'projection rollback',
  summary: 'makes the previous generation live again',
  members: { projection, seen },
  positions: ['projection'],
  ...CHANGE,
  parameters,
  route: post('projections/{projection}/rollback', 'PROJECTION_UNKNOWN'),
  examples: ['projection rollback rewards'],
  run: (context, { projection: name, seen: observed }) =>
    onNamedModel(context, name, (operator, projector) => {
      const change = { action: 'rollback', projectors: [projector] } as const;
      return recorded(operator, change, async (client, signal) => {
        const options = { signal, seen: observed };
        return ended(await rollBackGeneration(operator.parts, client, projector, options));
      });
    }),
});

/** Those with a new generation. */
async function waiting(
  { pool, log }: GenerationParts,
  projectors: readonly Projector[],
): Promise<readonly Projector[]> {
  const found: Projector[] = [];
  for (const projector of projectors)
    if ((await GenerationsOf.read(pool, log, projector)).ready) found.push(projector);
  return found;
}

function ended({ switched, heldMs }: Awaited<ReturnType<typeof swapGenerations>>): OperationResult {
  const held = Math.round(heldMs * 10) / 10;
  return {
    document: { heldMs: held, projections: switched },
    ends: switched.map(({ position, ...each }) => ({
      ...each,
      details: { position, heldMs: held },
    })),
  };
}
