import type { Refusal } from '../../domain/refusal.js';
import type { OperationRefusalCode } from '../outcome.js';

export interface OperationRoute {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** Below `/operations/`; members in braces: `ledger/{tenant}/statement`. */
  readonly path: string;
  readonly status?: 201;
  /** Members that only HTTP requires. */
  readonly required?: readonly string[];
  /** Refusals with an error code of their own, in the order of the API reference. */
  readonly refusals?: readonly (OperationRefusalCode | Refusal | 'FORBIDDEN')[];
  /** The schema of the answer, where it is more than a document. */
  readonly schema?: object;
  /** The member that the body is as a whole. */
  readonly body?: string;
}

/** @param refusals see `OperationRoute`. */
const routeBy =
  (method: OperationRoute['method']) =>
  (path: string, ...refusals: NonNullable<OperationRoute['refusals']>): OperationRoute => ({
    method,
    path,
    refusals,
  });
export const get = routeBy('GET');
export const post = routeBy('POST');
export const put = routeBy('PUT');
export const remove = routeBy('DELETE');
