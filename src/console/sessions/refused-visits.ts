import type { FastifyRequest } from 'fastify';
import { isAlias } from '../../tenants/tenant-directory.js';
import type { Core } from '../../stores/core.js';
import { MODES } from '../../domain/scope.js';
import { ledgerOf } from '../../domain/tenant/test-clock.js';
import { withTimeout } from '../../foundation/timeout.js';
import type { Logger } from '../../foundation/logger.js';
import { recordOperation } from '../../operations/audit.js';
import { testClockOf } from '../../operations/tenants/clock.operations.js';
import { FailedCredentials } from '../../http/limits/call-limit.js';
import { routeOf } from '../../http/edge/request-log.js';

/** Of a session; further ones are in the log lines of requests alone. */
export const VISITS_PER_MINUTE = 10;
/** How long the page of a refusal waits for its record. */
const RECORD_WAIT_MS = 1_000;

type VisitedCore = Pick<Core, 'commands' | 'names' | 'tenants'>;

/** Who was refused: the operator's name, and what the visits are counted by. */
export interface Visitor {
  readonly name: string;
  readonly session: string;
}

/**
 * Records refused visits of the console in the audit log of the tenant whose page it was, under the
 * operator's name. Pages of no tenant have a line in the service's log.
 */
export class RefusedVisits {
  private readonly counted = new FailedCredentials(VISITS_PER_MINUTE);

  constructor(
    private readonly core: VisitedCore,
    private readonly logger: Pick<Logger, 'warn'>,
  ) {}

  /** Never rejects: the refusal is answered in any case. */
  async record(request: FastifyRequest, { name, session }: Visitor): Promise<void> {
    if (this.counted.count(session) !== undefined) return;
    const { method } = request;
    const visit = { page: routeOf(request), method };
    try {
      await withTimeout(this.recordOf(request, name, visit), RECORD_WAIT_MS);
    } catch {
      this.warn(name, visit);
    }
  }

  private async recordOf(
    request: FastifyRequest,
    by: string,
    visit: { readonly page: string; readonly method: string },
  ): Promise<void> {
    const found = await this.scopeOf(request.params);
    if (found === undefined) return this.warn(by, visit);
    const { scope } = found;
    await recordOperation(this.core, scope, {
      operation: 'console refused',
      by: { name: by, channel: 'console' },
      parameters: visit,
      result: 'refused',
    });
  }

  /** The tenant and mode of a page, by the parameters of its path; undefined: there is none. */
  async scopeOf(parameters: unknown) {
    const { tenant, mode } = parameters as { readonly tenant?: unknown; readonly mode?: unknown };
    const known = MODES.find((one) => one === mode);
    if (known === undefined || typeof tenant !== 'string' || !isAlias(tenant)) return undefined;
    const found = await this.core.tenants.find(tenant);
    if (found === undefined) return undefined;
    // Of live mode there is none.
    const testClock = known === 'test' ? testClockOf(found) : null;
    return { scope: { tenant, mode: known }, ledger: ledgerOf(found, known), testClock };
  }

  private warn(operator: string, visit: { readonly page: string; readonly method: string }): void {
    const line = 'an operator was refused a page of the console';
    this.logger.warn({ operator, route: visit.page, method: visit.method }, line);
  }
}
