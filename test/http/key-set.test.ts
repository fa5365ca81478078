import { newEndpointSecret } from '../../src/webhooks/signing/signed-webhook.js';
import { compactVerify, createRemoteJWKSet } from 'jose';
import { signatureHeaders } from '../../src/webhooks/signing/signature-headers.js';
import { SigningKeys } from '../../src/webhooks/signing/signing-keys.js';
import { runHere } from '../support/command-line.js';
import { useSharedService } from '../support/running-service.js';

const running = useSharedService();

const body = Buffer.from('{"id":"1"}');

const cli = (...words: readonly string[]) => runHere(running.stores, words);

const keySet = () => fetch(`${running.service.origin}/.well-known/jwks.json`);
const servedKids = async (): Promise<readonly string[]> => {
  const { keys } = (await (await keySet()).json()) as { keys: readonly { kid: string }[] };
  return keys.map(({ kid }) => kid);
};

/** A compact JWS of a webhook that is signed now. */
async function signedNow(): Promise<string> {
  const { pool, webhookKeysSealer } = running.service.service.core;
  const headers = await signatureHeaders({
    id: '1',
    tenantAlias: 'acme',
    endpointUrl: 'https://shop.example/hook',
    timestamp: Math.floor(Date.now() / 1_000),
    body,
    secrets: [newEndpointSecret()],
    key: await new SigningKeys(pool, webhookKeysSealer).current(),
  });
  return (headers['X-Hook-JWS-RFC-7797'] ?? '').replace('..', `.${body.toString('base64url')}.`);
}

/** As a receiver does that reads the keys for it. */
const verify = (jws: string) =>
  compactVerify(jws, createRemoteJWKSet(new URL('/.well-known/jwks.json', running.service.origin)));

test('anyone may read the keys, before and after the first webhook', async () => {
  const answer = await keySet();
  expect(answer.status).toBe(200);
  expect(answer.headers.get('content-type')).toContain('application/json');
  expect(answer.headers.get('cache-control')).toBe('no-cache');
  const all = await Promise.all(Array.from({ length: 20 }, servedKids));
  expect(new Set(all.map(String)).size).toBe(1);
  expect((await verify(await signedNow())).payload).toEqual(new Uint8Array(body));
});

test('a rotation by command counts immediately, and both keys are served', async () => {
  const before = await signedNow();
  const served = await servedKids();
  const { code, out, err } = await cli('webhook', 'rotate-signing-key', '--json');
  expect({ code, err }).toEqual({ code: 0, err: '' });
  const { kid } = JSON.parse(out) as { kid: string };
  const [newest, ...others] = await servedKids();
  // By the end of their grace, which other rotations may have set to much later.
  expect([newest, ...others.toSorted()]).toEqual([kid, ...served.toSorted()]);
  for (const jws of [before, await signedNow()])
    expect((await verify(jws)).payload).toEqual(new Uint8Array(body));
  expect((await verify(await signedNow())).protectedHeader).toMatchObject({ alg: 'RS256', kid });
});
