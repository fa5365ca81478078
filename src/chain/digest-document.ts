import * as z from 'zod';
import { MODES, type Scope } from '../domain/scope.js';
import type { Position } from '../event-log/event-log.js';
import type { ChainSigner } from './chain-signer.js';

const HEX_DIGEST = z.string().regex(/^[0-9a-f]{64}$/);

export const DIGEST_DOCUMENT = z.object({
  tenant: z.string().min(1).max(64),
  mode: z.enum(MODES),
  log: z.string().min(1).max(100),
  position: z.string().min(1).max(100),
  events: z.int().min(1),
  digest: HEX_DIGEST,
  places: HEX_DIGEST,
  signature: z.string().max(200).optional(),
  publicKey: z.string().max(200).optional(),
});

/** The state of a chain at some time, to be kept elsewhere. */
export interface DigestDocument extends Scope {
  /** The identity of the log. */
  readonly log: string;
  /** Of the newest event of the chain. */
  readonly position: Position;
  /** Number of events in the chain. */
  readonly events: number;
  /** Both in hex, as chain-link.ts computes them. */
  readonly digest: string;
  readonly places: string;
  /** Ed25519 over `digestText`, in base64. */
  readonly signature?: string | undefined;
  /** The public key: DER (SubjectPublicKeyInfo) in base64. */
  readonly publicKey?: string | undefined;
}

/**
 * The signed text of a digest document. Its first line separates it from other texts that the key
 * signs.
 */
export const digestText = ({
  log,
  tenant,
  mode,
  events,
  position,
  digest,
  places,
}: DigestDocument): string =>
  ['referral-ledger chain digest 1', log, tenant, mode, events, position, digest, places, ''].join(
    '\n',
  );

/** Undefined: not a digest document. */
export function asDigestDocument(value: unknown): DigestDocument | undefined {
  const { success, data } = DIGEST_DOCUMENT.safeParse(value);
  return success ? data : undefined;
}

/** False: this installation did not sign it, or the document was changed. */
export function isAuthentic(document: DigestDocument, signer: ChainSigner): boolean {
  const { signature, publicKey } = document;
  if (signature === undefined && publicKey === undefined) return true;
  return (
    publicKey === signer.publicKey &&
    signature !== undefined &&
    signer.isSigned(digestText(document), signature)
  );
}
