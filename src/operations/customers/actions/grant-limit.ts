import { unitKey } from '../../../domain/account/account.state.js';
import type { Scope } from '../../../domain/scope.js';
import { grantLimitOf } from '../../../domain/tenant/unit-settings.js';
import { streamEndOf } from '../../../command-handling/stream-cache.js';
import { timeNow } from '../../../foundation/world.js';
import type { Core } from '../../../stores/core.js';
import type { StaffMeta } from '../../audit.js';
import { decodeTypes, pagesBefore } from '../../ledger/ledger-entries.js';
import { tenantNamed } from '../../tenants/tenant-operation.js';

const PERIOD_MS = 24 * 60 * 60 * 1000;
/** Events of an account that are read together, from the newest on. */
const PAGE = 500n;
const GRANTS: ReadonlySet<string> = new Set(['RewardGranted']);

interface AskedLimit {
  /** Of the operator's command. */
  readonly meta: Pick<StaffMeta, 'actor'>;
  readonly account: string;
  readonly unit: string;
}

type LimitCore = Pick<Core, 'log' | 'codec' | 'names' | 'streams' | 'tenants'>;

/** What the operator may still grant to the account now; not below 0. */
export async function grantLimitLeft(
  core: LimitCore,
  scope: Scope,
  { meta, account, unit }: AskedLimit,
): Promise<number> {
  const { units } = await tenantNamed(core, scope.tenant);
  let left = grantLimitOf(units, unit);
  const stream = core.names.accountStream(scope, core.names.accountRef(scope, account));
  const end = streamEndOf(await core.streams.accounts.load(stream));
  const before = end === undefined ? 0n : end.revision + 1n;
  // The real clock counts.
  const since = timeNow() - PERIOD_MS;
  for await (const { page } of pagesBefore(core.log, stream, { before, size: PAGE })) {
    const recent = page.filter(({ recordedAt }) => recordedAt >= since);
    for (const { event, envelope } of await decodeTypes(core.codec, recent, GRANTS)) {
      const isOwn = envelope.actor.id === meta.actor.id;
      if (event.type !== 'RewardGranted' || event.reason === undefined || !isOwn) continue;
      const { value } = event;
      if (value.type === 'CREDIT' && unitKey(value.unit) === unitKey(unit))
        left -= value.assignedCredit;
    }
    if (recent.length < page.length) break;
  }
  return Math.max(0, left);
}
