import { ChainNames } from '../../chain/chain-names.js';
import { ChainSealing } from '../../chain/chain-sealing.js';
import { sealsIn, sealText, type SealStores } from '../../chain/chain-seals.js';
import { digestText, type DigestDocument } from '../../chain/digest-document.js';
import type { Core } from '../../stores/core.js';
import { modeOf, scopeOfMode, type Scope } from '../../domain/scope.js';
import { NotDone, notDone } from '../outcome.js';

/** What is read and sealed; without `seals`, in the database of the log. */
export type SealedLog = Pick<Core, 'log' | 'names' | 'chainSigner'> &
  ({ readonly pool: Core['pool'] } | { readonly seals: SealStores });

/** The chains of a log, sealed up to its head. @throws {EventLogUnavailable} */
export async function sealedToHead(core: SealedLog, options: SealingOptions) {
  const { log, names, chainSigner: signer } = core;
  const stores = 'seals' in core ? core.seals : sealsIn(core.pool);
  const chains = new ChainNames(names);
  const sealing = new ChainSealing({ seals: stores, log, chains, signer });
  const { checkpoint, stopped } = await sealing.sealToHead(options);
  return { chains, checkpoint, stopped, seals: stores(await log.id()) };
}

interface SealingOptions {
  readonly signal?: AbortSignal | undefined;
  /** How many events of the log are sealed. */
  readonly onProgress?: (events: number) => void;
}

/**
 * Seals the log up to its head and returns the digest of the chain of this tenant and mode. The
 * same log gives the same document, byte for byte. @throws {EventLogUnavailable}
 */
export async function ledgerDigest(
  core: SealedLog,
  { scope, sign, ...sealing }: SealingOptions & { readonly scope: Scope; readonly sign: boolean },
): Promise<DigestDocument> {
  const { chainSigner: signer } = core;
  const { chains, seals } = await sealedToHead(core, sealing);
  const [seal] = await seals.newest([chains.of(scope)]);
  if (seal === undefined)
    throw notDone(`the chain of ${scope.tenant} has no events in ${modeOf(scope.mode)} mode`);
  if (!signer.isSigned(sealText(seals.logId, seal), seal.signature))
    // A digest on top of it would vouch for unverified events.
    throw new NotDone('SEAL_NOT_SIGNED_HERE', [
      'the newest seal of this chain was not signed by this installation: `ledger verify` says where the chain breaks',
    ]);
  const { position, events, digest, places } = seal;
  const { tenant, mode } = scopeOfMode(scope);
  const document = { tenant, mode, log: seals.logId, position, events, digest, places };
  return sign
    ? { ...document, signature: signer.sign(digestText(document)), publicKey: signer.publicKey }
    : document;
}
