import * as z from 'zod';
import { MODES } from '../domain/scope.js';
import type { ChainSigner } from './chain-signer.js';

const HEX_DIGEST = z.string().regex(/^[0-9a-f]{64}$/);

export const DIGEST_DOCUMENT = z.object({
  tenant: z.string().min(1).max(64),
  mode: z.enum(MODES),
  /** The identity of the log. */
  log: z.string().min(1).max(100),
  /** Of the newest event of the chain. */
  position: z.string().min(1).max(100),
  /** Number of events in the chain. */
  events: z.int().min(1),
  /** Both in hex, as chain-link.ts computes them. */
  digest: HEX_DIGEST,
  places: HEX_DIGEST,
  /** Ed25519 over `digestText`, in base64. */
  signature: z.string().max(200).optional(),
  /** DER (SubjectPublicKeyInfo) in base64. */
  publicKey: z.string().max(200).optional(),
});

/** The state of a chain at some time, to be kept elsewhere. */
export type DigestDocument = Readonly<z.output<typeof DIGEST_DOCUMENT>>;

/** The signed text. Its first line separates it from other texts that the key signs. */
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
export const asDigestDocument = (value: unknown): DigestDocument | undefined =>
  DIGEST_DOCUMENT.safeParse(value).data;

/** False: not signed by this installation, or changed since. */
export function isAuthentic(document: DigestDocument, signer: ChainSigner): boolean {
  const { signature, publicKey } = document;
  if (signature === undefined && publicKey === undefined) return true;
  return (
    publicKey === signer.publicKey &&
    signature !== undefined &&
    signer.isSigned(digestText(document), signature)
  );
}
