import * as z from 'zod';
import type { OperatorRole } from '../../config/operators.js';
import type { ObservedGenerations } from '../../projecting/generations/switch-generations.js';
import type { Projector } from '../../projecting/projector.js';
import type { OperationContext } from '../registry/context.js';
import { given, help, text } from '../registry/members.js';
import { onReadModels, projectorNamed, type ProjectionOperator } from './projection-operator.js';

/** What operations on read models have in common. */

export const SUPPORT: readonly OperatorRole[] = ['support'];
export const projection = help(text, 'the name of the projection');
export const choice = {
  projection: projection.optional(),
  all: help(z.boolean().default(false), 'all projections'),
};

const NAMED = { required: ['projection'], properties: { projection: {} } };
/** One projection, or all; the operation checks it. */
export const ONE_OR_ALL = {
  oneOf: [
    { required: ['projection'], properties: { projection: {}, all: { const: false } } },
    { required: ['all'], properties: { all: { const: true } }, not: NAMED },
  ],
};
/** Changes read models: a run, in their history. */
export const CHANGE = { roles: SUPPORT, isLong: true, isRecorded: true, output: 'lists' } as const;
export const parameters = ({ projection: name }: { readonly projection?: string | undefined }) => ({
  projection: name,
});

/** The generations that the operator saw: others now are refused. */
export const seen = given(z.custom<ObservedGenerations>().optional(), { only: 'console' });

/** The work on the projection of this name. */
export const onNamedModel = <T>(
  context: OperationContext,
  name: string,
  work: (operator: ProjectionOperator, projector: Projector) => Promise<T>,
): Promise<T> =>
  onReadModels(context, (operator) =>
    work(operator, projectorNamed(operator.parts.projectors, name)),
  );

/** Events that were read, as progress. */
export const reading = ({ onProgress }: OperationContext): ((events: number) => void) => {
  let read = 0;
  return (events) => onProgress('reading', (read += events));
};
