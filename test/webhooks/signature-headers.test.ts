import { newEndpointSecret } from '../../src/webhooks/signing/signed-webhook.js';
import { createPublicKey, verify } from 'node:crypto';
import { calculateJwkThumbprint, exportJWK, flattenedVerify, generateKeyPair } from 'jose';
import { Webhook } from 'standardwebhooks';
import { signatureHeaders } from '../../src/webhooks/signing/signature-headers.js';

const body = Buffer.from('{"id":"e-1","text":"grüße 👋","n":1}');
const id = 'e-1';
const timestamp = Math.floor(Date.now() / 1_000);
const to = { tenantAlias: 'acme', endpointUrl: 'https://shop.example/hook?a=b' };

async function newKey() {
  const { publicKey, privateKey } = await generateKeyPair('RS256', { extractable: true });
  const jwk = await exportJWK(publicKey);
  return { key: { kid: await calculateJwkThumbprint(jwk), privateKey }, publicKey, jwk };
}

it('the headers of Standard Webhooks are verified by its library with any secret that is given, and with no other', async () => {
  const { key } = await newKey();
  const secrets = [newEndpointSecret(), newEndpointSecret()];
  const headers = await signatureHeaders({ ...to, id, timestamp, body, secrets, key });
  expect(headers).toMatchObject({ 'webhook-id': id, 'webhook-timestamp': String(timestamp) });
  expect(headers['webhook-signature']).toMatch(/^v1,[\w+/]{43}= v1,[\w+/]{43}=$/);
  for (const secret of secrets)
    expect(new Webhook(secret).verify(body, headers)).toEqual(JSON.parse(body.toString()));
  expect(() => new Webhook(newEndpointSecret()).verify(body, headers)).toThrow();
  expect(() => new Webhook(secrets[0] ?? '').verify(`${body.toString()} `, headers)).toThrow();
});

it('the headers of Standard Webhooks carry one signature with one secret, of the newest first', async () => {
  const { key } = await newKey();
  const [newer, older] = [newEndpointSecret(), newEndpointSecret()];
  const both = await signatureHeaders({
    ...to,
    id,
    timestamp,
    body,
    secrets: [newer, older],
    key,
  });
  const one = await signatureHeaders({ ...to, id, timestamp, body, secrets: [newer], key });
  expect(both['webhook-signature']?.split(' ')[0]).toBe(one['webhook-signature']);
});

it('the detached JWS is verified over the base64url of the raw body, by jose and by plain RSA', async () => {
  const { key, publicKey, jwk } = await newKey();
  const headers = await signatureHeaders({ ...to, id, timestamp, body, secrets: [], key });
  const [header = '', payload, signature = ''] = (headers['X-Hook-JWS-RFC-7797'] ?? '').split('.');
  expect(payload).toBe('');
  expect(JSON.parse(Buffer.from(header, 'base64url').toString())).toEqual({
    alg: 'RS256',
    kid: key.kid,
    tenantAlias: 'acme',
    iat: timestamp,
    aud: 'https://shop.example/hook?a=b',
  });
  const encoded = body.toString('base64url');
  const { payload: verified } = await flattenedVerify(
    { protected: header, payload: encoded, signature },
    publicKey,
  );
  expect(Buffer.from(verified)).toEqual(body);
  const isSigned = (signed: string): boolean =>
    verify(
      'sha256',
      Buffer.from(`${header}.${signed}`),
      createPublicKey({ key: jwk, format: 'jwk' }),
      Buffer.from(signature, 'base64url'),
    );
  expect(isSigned(encoded)).toBe(true);
  expect(isSigned(Buffer.from(`${body.toString()} `).toString('base64url'))).toBe(false);
});

it('a secret of an endpoint is whsec_ with 32 bytes of its own', () => {
  const secrets = Array.from({ length: 100 }, newEndpointSecret);
  expect(new Set(secrets).size).toBe(100);
  for (const secret of secrets) {
    expect(secret).toMatch(/^whsec_/);
    expect(Buffer.from(secret.slice('whsec_'.length), 'base64').length).toBe(32);
  }
});
