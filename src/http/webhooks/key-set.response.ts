import type { PublicKey, PublicKeySet } from '../../webhooks/signing/signing-keys.js';
import { answerOf, answers, oneOf, text } from '../../presenting/answer-members.js';

/** A public RSA key (RFC 7517, 7518). */
export class PublicKeyResponse
  extends answerOf({
    kty: oneOf(['RSA']),
    use: oneOf(['sig']),
    alg: oneOf(['RS256']),
    kid: text,
    n: text,
    e: text,
  })
  implements PublicKey {}

export class KeySetResponse
  extends answerOf({ keys: answers(PublicKeyResponse) })
  implements PublicKeySet {}
