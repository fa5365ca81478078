import { verifyLedger, type Verification } from '../src/operations/ledger/ledger-verification.js';
import type { Scope } from '../src/domain/scope.js';
import { scopeOfStream } from '../src/privacy/keyed-names.js';
import type { SeededRandom } from './seeded-random.js';
import type { SharedStores, SimulatedService } from './service.js';
import { SEALS_SIGNER } from './simulated-seals.js';
import type { Owner } from './virtual-world.js';

interface Verifying {
  readonly shared: SharedStores;
  readonly services: readonly SimulatedService[];
  readonly scope: Scope;
  readonly random: SeededRandom;
  readonly inProcess: <T>(owner: Owner, work: () => Promise<T>) => Promise<T>;
}

/**
 * The chain verifies, unless the log lost what was sealed; and where an event was changed
 * in the store, the verification names that event. The last of all checks: the log is changed then.
 */
export async function brokenSeals(world: Verifying): Promise<string[]> {
  const { shared, random, scope } = world;
  const { log, seals } = shared;
  const { position = null, eventId = null } = seals.logSeal ?? {};
  const isLost = position !== null && !log.holds({ position, eventId: eventId ?? '' });
  const before = await verified(world);
  if (before.ok === (isLost || seals.isLossOpen))
    return [
      `the chain is ${before.ok ? '' : `not `}intact, ` +
        `and ${isLost ? '' : 'no '}sealed event is lost: ${JSON.stringify(before.firstBroken)}`,
    ];
  if (!before.ok) return [];
  const own = log.all.filter(({ stream }) => scopeOfStream(stream)?.mode === scope.mode);
  if (own.length === 0) return [];
  const changed = random.oneOf(own);
  log.tamper(changed, random);
  const { firstBroken } = await verified(world);
  return firstBroken?.position === changed.position
    ? []
    : [`${changed.position} was changed, and the verification says ${JSON.stringify(firstBroken)}`];
}

/** As `ledger verify` does it. */
function verified({ services, scope, inProcess }: Verifying): Promise<Verification> {
  const [service] = services;
  if (service === undefined) throw new RangeError('no process runs');
  const { log, names, seals, owner } = service;
  const core = { log, names, seals, chainSigner: SEALS_SIGNER };
  const { signal } = new AbortController();
  return inProcess(owner, () => verifyLedger(core, { scope, signal }));
}
